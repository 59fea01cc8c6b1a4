use arbitrary::{Result, Unstructured};
use memkeep::{AuditRecord, Hash, Timestamp};
use serde_json::{Map, Value, json};

/// What a field of an op or a record holds.
#[derive(Clone, Copy)]
enum Kind {
    Id,
    Name,
    Workspace,
    Text,
    Json,
    Object,
    Time,
    Tokens,
    Number,
    Small,
    Flag,
    Expected,
    Tags,
    Ids,
    Record,
}

use Kind::{
    Expected, Flag, Id, Ids, Json, Name, Number, Object, Record, Small, Tags, Text, Time, Tokens,
    Workspace,
};

/// Fields with their kinds: those that must be there, and those that may.
type Fields = &'static [(&'static str, Kind)];

const NEW_SESSION: Fields = &[
    ("workspace", Workspace),
    ("created_at", Time),
    ("started_at", Time),
    ("model", Text),
    ("mode", Text),
    ("metadata", Object),
];

const OPS: &[(&str, Fields, Fields)] = &[
    ("start_session", &[("id", Id)], NEW_SESSION),
    ("ensure_session", &[("id", Id)], NEW_SESSION),
    ("end_session", &[("session", Id)], &[("at", Time)]),
    ("resume_session", &[("session", Id)], &[]),
    ("set_summary", &[("session", Id)], &[("summary", Text)]),
    ("delete_session", &[("session", Id)], &[("ended_before", Time)]),
    (
        "record_turn",
        &[("id", Id), ("session", Id), ("role", Name), ("content", Text)],
        &[
            ("created_at", Time),
            ("model", Text),
            ("tokens", Tokens),
            ("embedding_id", Name),
            ("metadata", Object),
            ("tags", Tags),
        ],
    ),
    (
        "record_step",
        &[("id", Id), ("session", Id), ("name", Name), ("status", Name)],
        &[("created_at", Time), ("payload", Json)],
    ),
    ("delete_turn", &[("turn", Id)], &[]),
    ("tag_turn", &[("turn", Id), ("name", Name)], &[("value", Text)]),
    ("untag_turn", &[("turn", Id), ("name", Name)], &[]),
    ("set_embedding", &[("turn", Id)], &[("embedding_id", Name)]),
    (
        "add_episode",
        &[("id", Id), ("problem", Text), ("summary", Text)],
        &[("workspace", Workspace), ("created_at", Time), ("open", Flag), ("metadata", Object)],
    ),
    (
        "revise_episode",
        &[("episode", Id)],
        &[("problem", Text), ("summary", Text), ("metadata", Object)],
    ),
    ("set_episode_open", &[("episode", Id), ("open", Flag)], &[]),
    ("delete_episode", &[("episode", Id)], &[("closed_before", Time)]),
    (
        "add_note",
        &[("id", Id), ("text", Text)],
        &[("workspace", Workspace), ("created_at", Time), ("sources", Ids)],
    ),
    ("delete_note", &[("note", Id)], &[]),
    (
        "put_state",
        &[("key", Name), ("value", Json)],
        &[
            ("workspace", Workspace),
            ("expected", Expected),
            ("expires_at", Time),
            ("ttl_ms", Number),
        ],
    ),
    (
        "delete_state",
        &[("key", Name)],
        &[("workspace", Workspace), ("expected", Expected), ("expired_before", Time)],
    ),
    (
        "append_audit",
        &[("id", Id), ("action", Text), ("decision", Text)],
        &[("workspace", Workspace), ("created_at", Time), ("detail", Json)],
    ),
    ("forget_workspace", &[("workspace", Workspace)], &[]),
    ("forget_receipts", &[("before", Time)], &[]),
    ("restore", &[("record", Record)], &[]),
];

const RECORDS: &[(&str, Fields, Fields)] = &[
    (
        "session",
        &[("id", Id), ("workspace", Workspace), ("created_at", Time), ("started_at", Time)],
        &[
            ("ended_at", Time),
            ("model", Text),
            ("mode", Text),
            ("summary", Text),
            ("metadata", Object),
            ("next_turn", Number),
            ("next_step", Number),
            ("turn_count", Number),
            ("step_count", Number),
            ("total_tokens", Tokens),
            ("last_active", Time),
            ("first_prompt", Text),
        ],
    ),
    (
        "turn",
        &[
            ("id", Id),
            ("workspace", Workspace),
            ("created_at", Time),
            ("session", Id),
            ("index", Small),
            ("role", Name),
            ("content", Text),
        ],
        &[
            ("model", Text),
            ("tokens", Tokens),
            ("embedding_id", Name),
            ("metadata", Object),
            ("tags", Tags),
        ],
    ),
    (
        "step",
        &[
            ("id", Id),
            ("workspace", Workspace),
            ("created_at", Time),
            ("session", Id),
            ("index", Small),
            ("name", Name),
            ("status", Name),
        ],
        &[("payload", Json)],
    ),
    (
        "episode",
        &[
            ("id", Id),
            ("workspace", Workspace),
            ("created_at", Time),
            ("problem", Text),
            ("summary", Text),
            ("open", Flag),
        ],
        &[("closed_at", Time), ("metadata", Object)],
    ),
    (
        "note",
        &[("id", Id), ("workspace", Workspace), ("created_at", Time), ("text", Text)],
        &[("sources", Ids)],
    ),
    (
        "state",
        &[
            ("workspace", Workspace),
            ("key", Name),
            ("version", Small),
            ("created_at", Time),
            ("updated_at", Time),
        ],
        &[("value", Json), ("expires_at", Time)],
    ),
    (
        "audit",
        &[
            ("id", Id),
            ("workspace", Workspace),
            ("created_at", Time),
            ("seq", Small),
            ("action", Text),
            ("decision", Text),
        ],
        &[("detail", Json)],
    ),
];

/// How many batches, and ops in one, are worth the time.
const BATCHES: usize = 8;
const OPS_IN_ONE: usize = 6;

/// Batches as JSON, all of whose fields are of the right kind, drawn from `bytes`: few ids, so that ops
/// meet, and texts of any content.
pub fn batches(bytes: &[u8]) -> Result<Vec<Value>> {
    let mut draw = Draw(Unstructured::new(bytes));
    let mut batches = Vec::new();
    while batches.len() < BATCHES && !draw.0.is_empty() {
        let ops = (0..=draw.below(OPS_IN_ONE)?).map(|_| draw.tagged("op", OPS));
        let mut batch = json!({ "ops": ops.collect::<Result<Vec<_>>>()? });
        if draw.below(4)? == 0 {
            batch["key"] = draw.value(Id)?;
        }
        batches.push(batch);
    }
    Ok(batches)
}

struct Draw<'b>(Unstructured<'b>);

impl Draw<'_> {
    fn below(&mut self, n: usize) -> Result<usize> {
        self.0.choose_index(n)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> Result<T> {
        self.0.choose(of).copied()
    }

    fn tagged(&mut self, tag: &str, of: &[(&str, Fields, Fields)]) -> Result<Value> {
        let (name, required, optional) = self.one(of)?;
        let mut object = Map::new();
        object.insert(tag.to_owned(), name.into());
        for (field, kind) in required {
            object.insert((*field).to_owned(), self.value(*kind)?);
        }
        for (field, kind) in optional {
            if self.below(3)? == 0 {
                object.insert((*field).to_owned(), self.value(*kind)?);
            }
        }
        if name == "audit" {
            self.hash(&mut object)?;
        }
        Ok(object.into())
    }

    /// Gives an audit record a hash: most often that of the first of a chain.
    fn hash(&mut self, audit: &mut Map<String, Value>) -> Result<()> {
        audit.insert("hash".to_owned(), Hash(self.0.arbitrary()?).to_string().into());
        if self.below(4)? > 0 {
            let record: AuditRecord =
                serde_json::from_value(audit.clone().into()).expect("an audit record");
            let hash = record.expected_hash(&Hash::default());
            audit.insert("hash".to_owned(), hash.to_string().into());
        }
        Ok(())
    }

    fn text(&mut self) -> Result<String> {
        Ok(match self.below(8)? {
            0 => String::new(),
            1 => "\0".to_owned(),
            // About as long as a first prompt is.
            2 => "\u{e9}".repeat(250 + self.below(16)?),
            3 => "a user's problem, twice: problem".to_owned(),
            // About as long as a name may be.
            4 => "n".repeat(1_020 + self.below(8)?),
            _ => self.0.arbitrary()?,
        })
    }

    fn value(&mut self, kind: Kind) -> Result<Value> {
        Ok(match kind {
            Id if self.below(16)? > 0 => self.one(&["a", "b", "c", "\u{1}", "a\0"])?.into(),
            Workspace if self.below(16)? > 0 => {
                self.one(&["default", "acme", "", "acme\0"])?.into()
            }
            Name if self.below(4)? > 0 => self.one(&["user", "", "x", "x\0", "xy"])?.into(),
            Id | Workspace | Name | Text => self.text()?.into(),
            Json => self.json(3)?,
            Object => self.object(2)?,
            Time => self.time()?.to_string().into(),
            Tokens => match self.below(3)? {
                0 => self.one(&[i64::MAX, i64::MIN, -1, 0])?.into(),
                1 => self.0.arbitrary::<i64>()?.into(),
                _ => self.0.arbitrary::<i8>()?.into(),
            },
            Number => match self.below(3)? {
                0 => self.one(&[u64::MAX, i64::MAX as u64, i64::MAX as u64 - 1, 0])?.into(),
                1 => self.0.arbitrary::<u64>()?.into(),
                _ => self.0.arbitrary::<u8>()?.into(),
            },
            Small if self.below(8)? > 0 => self.below(4)?.into(),
            Small => self.value(Number)?,
            Flag => self.0.arbitrary::<bool>()?.into(),
            Expected => match self.below(3)? {
                0 => "any".into(),
                1 => "absent".into(),
                _ => json!({ "version": self.below(4)? }),
            },
            Tags => {
                let mut tags = Map::new();
                for _ in 0..self.below(4)? {
                    let Value::String(name) = self.value(Name)? else { continue };
                    let value = if self.0.arbitrary()? { self.text()?.into() } else { Value::Null };
                    tags.insert(name, value);
                }
                tags.into()
            }
            Ids => (0..self.below(4)?).map(|_| self.value(Id)).collect::<Result<Vec<_>>>()?.into(),
            Record => self.tagged("kind", RECORDS)?,
        })
    }

    fn time(&mut self) -> Result<Timestamp> {
        let edges = [Timestamp::MIN, Timestamp::MAX, Timestamp::default(), crate::now()];
        let drawn = Timestamp::from_micros(match self.below(3)? {
            0 => return self.one(&edges),
            1 => self.0.arbitrary::<i8>()?.into(),
            _ => self.0.arbitrary::<i64>()? >> 5,
        });
        Ok(drawn.unwrap_or_default())
    }

    fn json(&mut self, depth: usize) -> Result<Value> {
        Ok(match self.below(if depth == 0 { 6 } else { 8 })? {
            0 => Value::Null,
            1 => self.0.arbitrary::<bool>()?.into(),
            2 => self.0.arbitrary::<i64>()?.into(),
            3 => self.0.arbitrary::<u64>()?.into(),
            // What is no number of JSON becomes null.
            4 => self.0.arbitrary::<f64>()?.into(),
            5 => self.text()?.into(),
            6 => self.object(depth - 1)?,
            _ => {
                let items = (0..self.below(4)?).map(|_| self.json(depth - 1));
                items.collect::<Result<Vec<_>>>()?.into()
            }
        })
    }

    fn object(&mut self, depth: usize) -> Result<Value> {
        let entries = (0..self.below(4)?).map(|_| Ok((self.text()?, self.json(depth)?)));
        Ok(Value::Object(entries.collect::<Result<_>>()?))
    }
}

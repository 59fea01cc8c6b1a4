use std::{collections::BTreeMap, time::Duration};

use memkeep_core::{
    AuditRecord, Batch, Episode, Hash, Json, ListAudit, ListEpisodes, ListNotes, ListSessions,
    ListStates, ListSteps, ListTurns, Metadata, NewAudit, NewEpisode, NewNote, NewSession, NewStep,
    NewTurn, Note, Op, Outcome, PutState, Record, RecordKind, Scan, Scope, Session, StateEntry,
    StateSlot, Step, Timestamp, Turn, Workspace, json::canonical,
};
use serde::Serialize;

use crate::{Case, Failure, Part, Verdict, failure::must_equal};

/// What a few records of each kind that the store takes are filled with, in every field.
///
/// The records live in a workspace of their own and have [`name`](Self::name) as their id.
pub(crate) struct Sample {
    /// Tells the ids that are not names from those of other samples.
    number: usize,
    /// Stands wherever the contract wants a name: ids, workspace, key, role, status, tag.
    pub(crate) name: String,
    /// Stands wherever any text may stand.
    pub(crate) text: String,
    /// The value of a state entry, a payload, a detail; also in metadata.
    pub(crate) json: Json,
    /// Every time, the store's clock included.
    pub(crate) at: Timestamp,
}

impl Sample {
    /// A sample with nothing unusual in it.
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            name: format!("name {number}"),
            text: format!("text {number}"),
            json: Json::from(number),
            at: Case::at(0),
        }
    }

    /// The same with another number, and the name that goes with it.
    pub(crate) fn renumber(&mut self, number: usize) {
        self.number = number;
        self.name = format!("name {number}");
    }

    /// Samples with one unusual thing each.
    pub(crate) fn each<T>(things: Vec<T>, mut set: impl FnMut(&mut Self, T)) -> Vec<Self> {
        let sample = |(number, thing)| {
            let mut sample = Self::new(number);
            set(&mut sample, thing);
            sample
        };
        things.into_iter().enumerate().map(sample).collect()
    }

    fn scope(&self) -> Scope {
        Scope::from(&self.name[..])
    }

    fn workspace(&self) -> Workspace {
        Workspace::from(&self.name[..])
    }

    fn metadata(&self) -> Metadata {
        match &self.json {
            Json::Object(map) => map.clone(),
            other => Metadata::from_iter([(self.name.clone(), other.clone())]),
        }
    }

    fn tags(&self) -> BTreeMap<String, Option<String>> {
        BTreeMap::from([(self.name.clone(), Some(self.text.clone())), ("bare".to_owned(), None)])
    }

    fn expires_at(&self) -> Option<Timestamp> {
        let next = self.at.saturating_add(Duration::from_micros(1));
        (next > self.at).then_some(next)
    }

    /// The ops that write the records that the store takes, with their outcomes.
    fn written(&self, case: &Case) -> Vec<(Op, Outcome)> {
        let parts = case.handle().parts().into_iter();
        let written = parts.map(|part| match part {
            Part::Episodic => self.write_episodic(),
            Part::Sessions => self.write_sessions(),
            _ => self.write_reflective(),
        });
        written.flatten().collect()
    }

    /// The batch that writes them.
    pub(crate) fn batch(&self, case: &Case) -> Batch {
        self.written(case).into_iter().map(|(op, _)| op).collect()
    }

    /// Writes the records that the store takes, and compares what the commit answers.
    pub(crate) async fn write(&self, case: &Case) -> Verdict {
        case.set_clock(self.at);
        let (ops, outcomes): (Vec<Op>, Vec<Outcome>) = self.written(case).into_iter().unzip();
        let batch: Batch = ops.into_iter().collect();
        let receipt = case.backend().commit(batch).await?;
        must_equal!(receipt.at, self.at, "the receipt's time");
        same(&receipt.outcomes, &outcomes, "the outcomes of the commit")
    }

    fn write_episodic(&self) -> Vec<(Op, Outcome)> {
        let new = NewEpisode::new(&self.text[..], &self.text[..])
            .id(&self.name[..])
            .workspace(&self.name[..])
            .created_at(self.at)
            .open(false)
            .metadata(self.metadata());
        vec![(new.into(), Outcome::Episode(self.episode()))]
    }

    fn write_sessions(&self) -> Vec<(Op, Outcome)> {
        let name = &self.name[..];
        let start = NewSession::new()
            .id(name)
            .workspace(name)
            .created_at(self.at)
            .started_at(self.at)
            .model(&self.text[..])
            .mode(&self.text[..])
            .metadata(self.metadata());
        let [prompt, answer] = self.turns();
        let first =
            NewTurn::new(name, "user", &self.text[..]).id(prompt.id.clone()).created_at(self.at);
        let second = NewTurn::new(name, name, &self.text[..])
            .id(name)
            .created_at(self.at)
            .model(&self.text[..])
            .tokens(-5)
            .embedding_id(name)
            .metadata(self.metadata())
            .tags(self.tags());
        let step =
            NewStep::new(name, name, name).id(name).created_at(self.at).payload(self.json.clone());
        let ended = self.session();
        let summarised = Session { ended_at: None, ..ended.clone() };
        let started = Session {
            summary: None,
            next_turn: 0,
            next_step: 0,
            turn_count: 0,
            step_count: 0,
            total_tokens: 0,
            ..summarised.clone()
        };
        let summary = Op::SetSummary { session: name.into(), summary: Some(self.text.clone()) };
        let end = Op::EndSession { session: name.into(), at: Some(self.at) };
        vec![
            (Op::StartSession(start), Outcome::Session(started)),
            (first.into(), Outcome::Turn(prompt)),
            (second.into(), Outcome::Turn(answer)),
            (step.into(), Outcome::Step(self.step())),
            (summary, Outcome::Session(summarised)),
            (end, Outcome::Session(ended)),
        ]
    }

    fn write_reflective(&self) -> Vec<(Op, Outcome)> {
        let name = &self.name[..];
        let [note, drawn] = self.notes();
        let new = NewNote::new(&self.text[..]).id(name).workspace(name).created_at(self.at);
        let mut put = PutState::new(name, self.json.clone()).workspace(name);
        put.expires_at = self.expires_at();
        let append = NewAudit::new(&self.text[..], &self.text[..])
            .id(name)
            .workspace(name)
            .created_at(self.at)
            .detail(self.json.clone());
        let drawn = Record::Note(drawn);
        vec![
            (new.into(), Outcome::Note(note)),
            (drawn.clone().into(), Outcome::Restored { record: drawn, created: true }),
            (put.into(), Outcome::State(self.state())),
            (append.into(), Outcome::Audit(self.audit())),
        ]
    }

    /// Every read gives the records as they were written.
    pub(crate) async fn read_back(&self, case: &Case) -> Verdict {
        // No entry has expired then.
        case.set_clock(Timestamp::MIN);
        for part in case.handle().parts() {
            match part {
                Part::Episodic => self.read_episodic(case).await?,
                Part::Sessions => self.read_sessions(case).await?,
                _ => self.read_reflective(case).await?,
            }
            for &kind in kinds(part) {
                let scan = Scan::new(kind).scope(self.scope());
                let scanned = case.backend().scan(&scan).await?.items;
                same(&scanned, &self.records(kind), "the scan of the workspace")?;
            }
        }
        Ok(())
    }

    async fn read_episodic(&self, case: &Case) -> Verdict {
        let (store, episode) = (case.episodic()?, self.episode());
        let list = ListEpisodes::new().scope(self.scope());
        let listed = store.episodes(&list).await?.items;
        same(&listed, &[&episode], "the listed episodes")?;
        for scope in [Scope::All, self.scope()] {
            let read = store.episode(&scope, &episode.id).await?;
            same(&read, &Some(&episode), "the episode by id")?;
        }
        Ok(())
    }

    async fn read_sessions(&self, case: &Case) -> Verdict {
        let store = case.sessions()?;
        let prompt = self.text.chars().take(256).collect();
        let session = Session { first_prompt: Some(prompt), ..self.session() };
        let list = ListSessions::new().scope(self.scope());
        let listed = store.sessions(&list).await?.items;
        same(&listed, &[&session], "the listed sessions")?;
        let list = ListTurns::new(&session.id).scope(self.scope());
        let listed = store.turns(&list).await?.items;
        same(&listed, &self.turns(), "the listed turns")?;
        let list = ListSteps::new(&session.id).scope(self.scope());
        let listed = store.steps(&list).await?.items;
        same(&listed, &[self.step()], "the listed steps")?;
        for scope in [Scope::All, self.scope()] {
            let read = store.session(&scope, &session.id).await?;
            same(&read, &Some(&session), "the session by id")?;
            for turn in self.turns() {
                let read = store.turn(&scope, &turn.id).await?;
                same(&read, &Some(turn), "the turn by id")?;
            }
            let step = self.step();
            let read = store.step(&scope, &step.id).await?;
            same(&read, &Some(step), "the step by id")?;
        }
        Ok(())
    }

    async fn read_reflective(&self, case: &Case) -> Verdict {
        let store = case.reflective()?;
        let listed = store.notes(&ListNotes::new().scope(self.scope())).await?.items;
        same(&listed, &self.notes(), "the listed notes")?;
        for scope in [Scope::All, self.scope()] {
            for note in self.notes() {
                let read = store.note(&scope, &note.id).await?;
                same(&read, &Some(note), "the note by id")?;
            }
        }
        let state = self.state();
        let listed = store.states(&ListStates::new().scope(self.scope())).await?.items;
        same(&listed, &[&state], "the listed state")?;
        let read = store.state(&self.workspace(), &state.key).await?;
        same(&read, &Some(&state), "the state by key")?;
        let audit = self.audit();
        let listed = store.audit_log(&ListAudit::new().scope(self.scope())).await?.items;
        same(&listed, &[&audit], "the audit log")?;
        let head = store.audit_head(&self.workspace()).await?;
        same(&head, &audit.head(), "the audit head")
    }

    /// The records of a kind, as scans give them.
    fn records(&self, kind: RecordKind) -> Vec<Record> {
        match kind {
            RecordKind::Session => vec![Record::Session(self.session())],
            RecordKind::Turn => self.turns().map(Record::Turn).into(),
            RecordKind::Step => vec![Record::Step(self.step())],
            RecordKind::Episode => vec![Record::Episode(self.episode())],
            RecordKind::Note => self.notes().map(Record::Note).into(),
            RecordKind::State => vec![Record::State(self.slot())],
            RecordKind::Audit => vec![Record::Audit(self.audit())],
        }
    }

    fn episode(&self) -> Episode {
        Episode {
            id: self.name[..].into(),
            workspace: self.workspace(),
            created_at: self.at,
            problem: self.text.clone(),
            summary: self.text.clone(),
            open: false,
            closed_at: Some(self.at),
            metadata: self.metadata(),
        }
    }

    fn session(&self) -> Session {
        Session {
            id: self.name[..].into(),
            workspace: self.workspace(),
            created_at: self.at,
            started_at: self.at,
            ended_at: Some(self.at),
            model: Some(self.text.clone()),
            mode: Some(self.text.clone()),
            summary: Some(self.text.clone()),
            metadata: self.metadata(),
            next_turn: 2,
            next_step: 1,
            turn_count: 2,
            step_count: 1,
            total_tokens: -5,
            last_active: self.at,
            first_prompt: None,
        }
    }

    fn turns(&self) -> [Turn; 2] {
        let prompt = Turn {
            id: format!("prompt {}", self.number).into(),
            workspace: self.workspace(),
            created_at: self.at,
            session: self.name[..].into(),
            index: 0,
            role: "user".to_owned(),
            content: self.text.clone(),
            model: None,
            tokens: None,
            embedding_id: None,
            metadata: Metadata::new(),
            tags: BTreeMap::new(),
        };
        let answer = Turn {
            id: self.name[..].into(),
            index: 1,
            role: self.name.clone(),
            model: Some(self.text.clone()),
            tokens: Some(-5),
            embedding_id: Some(self.name.clone()),
            metadata: self.metadata(),
            tags: self.tags(),
            ..prompt.clone()
        };
        [prompt, answer]
    }

    fn step(&self) -> Step {
        Step {
            id: self.name[..].into(),
            workspace: self.workspace(),
            created_at: self.at,
            session: self.name[..].into(),
            index: 0,
            name: self.name.clone(),
            status: self.name.clone(),
            payload: self.json.clone(),
        }
    }

    /// One without sources, and one with sources that need not be there.
    fn notes(&self) -> [Note; 2] {
        let note = Note {
            id: self.name[..].into(),
            workspace: self.workspace(),
            created_at: self.at,
            text: self.text.clone(),
            sources: Vec::new(),
        };
        let drawn = Note {
            id: format!("drawn {}", self.number).into(),
            sources: vec![self.name[..].into(), "another".into()],
            ..note.clone()
        };
        [note, drawn]
    }

    fn state(&self) -> StateEntry {
        StateEntry {
            workspace: self.workspace(),
            key: self.name.clone(),
            value: self.json.clone(),
            version: 1,
            created_at: self.at,
            updated_at: self.at,
            expires_at: self.expires_at(),
        }
    }

    fn slot(&self) -> StateSlot {
        StateSlot {
            workspace: self.workspace(),
            key: self.name.clone(),
            value: Some(self.json.clone()),
            version: 1,
            created_at: self.at,
            updated_at: self.at,
            expires_at: self.expires_at(),
        }
    }

    fn audit(&self) -> AuditRecord {
        let mut record = AuditRecord {
            id: self.name[..].into(),
            workspace: self.workspace(),
            created_at: self.at,
            seq: 1,
            action: self.text.clone(),
            decision: self.text.clone(),
            detail: self.json.clone(),
            hash: Hash::default(),
        };
        record.hash = record.expected_hash(&Hash::default());
        record
    }
}

/// A store with these samples, and nothing else, gives them all in the order of their writing.
pub(crate) async fn read_all(case: &Case, samples: &[Sample]) -> Verdict {
    for sample in samples {
        sample.read_back(case).await?;
    }
    for kind in case.handle().parts().into_iter().flat_map(kinds) {
        let scanned = case.backend().scan(&Scan::new(*kind)).await?.items;
        let written: Vec<Record> = samples.iter().flat_map(|s| s.records(*kind)).collect();
        same(&scanned, &written, "the scan of everything")?;
    }
    case.verify().await
}

/// The kinds of records of a part.
pub(crate) fn kinds(part: Part) -> &'static [RecordKind] {
    match part {
        Part::Episodic => &[RecordKind::Episode],
        Part::Sessions => &[RecordKind::Session, RecordKind::Turn, RecordKind::Step],
        Part::Reflective => &[RecordKind::Note, RecordKind::State, RecordKind::Audit],
        Part::EpisodicReflective | Part::Any => &RecordKind::ALL,
    }
}

/// Equal also where `==` is too kind: 0.0 is not -0.0.
pub(crate) fn same<A, B>(actual: &A, expected: &B, what: &str) -> Verdict
where
    A: Serialize + std::fmt::Debug,
    B: Serialize + std::fmt::Debug + ?Sized,
{
    let text = |value: Result<Json, _>| value.map(|value| canonical(&value));
    let is_same = match (text(serde_json::to_value(actual)), text(serde_json::to_value(expected))) {
        (Ok(actual), Ok(expected)) => actual == expected,
        _ => false,
    };
    if is_same { Ok(()) } else { Err(Failure::values(what, &expected, actual)) }
}

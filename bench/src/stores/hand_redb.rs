use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use memkeep::{Timestamp, TurnId};
use redb::{Database, ReadableDatabase as _, ReadableTable, Table, TableDefinition};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::Store;

const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("memkeep");
const WORKSPACE: &str = "default";

// The first bytes of keys, as memkeep-kv documents them.
const COUNTER: u8 = 0x02;
const COUNT: u8 = 0x03;
const RECORD: u8 = 0x10;
const ID: u8 = 0x20;
const MEMBER: u8 = 0x21;
const TIME: u8 = 0x22;
const ACTIVE: u8 = 0x23;
const PLACE: u8 = 0x24;
const USER_TURN: u8 = 0x25;
const SESSION: u8 = 1;
const TURN: u8 = 2;

/// redb under memkeep's keys, as somebody would write it who knows only them.
pub(crate) struct HandRedb(Database);

#[derive(Serialize, Deserialize)]
struct Session {
    id: String,
    workspace: String,
    created_at: i64,
    started_at: i64,
    ended_at: Option<i64>,
    model: Option<String>,
    mode: Option<String>,
    summary: Option<String>,
    metadata: String,
    next_turn: u64,
    next_step: u64,
    turn_count: u64,
    step_count: u64,
    total_tokens: i64,
    last_active: i64,
}

#[derive(Serialize, Deserialize)]
struct Turn {
    id: String,
    workspace: String,
    created_at: i64,
    session: String,
    index: u64,
    role: String,
    content: String,
    model: Option<String>,
    tokens: Option<i64>,
    embedding_id: Option<String>,
    metadata: String,
    tags: BTreeMap<String, Option<String>>,
}

impl HandRedb {
    pub(crate) fn new(path: &Path) -> Result<Self> {
        // memkeep's cache has this size too.
        let database = Database::builder().set_cache_size(64 << 20).create(path)?;
        let transaction = database.begin_write()?;
        transaction.open_table(TABLE)?;
        transaction.commit()?;
        Ok(Self(database))
    }

    /// Runs `write` in a transaction that is on the medium when this returns.
    fn commit(&self, write: impl FnOnce(&mut Keys<'_>) -> Result<()>) -> Result<()> {
        let transaction = self.0.begin_write()?;
        write(&mut Keys(transaction.open_table(TABLE)?))?;
        Ok(transaction.commit()?)
    }

    /// The turns whose places are in a range, in order or against it.
    fn turns(&self, session: &str, from: u64, reverse: bool, limit: usize) -> Result<Vec<Turn>> {
        let table = self.0.begin_read()?.open_table(TABLE)?;
        let first = place(PLACE, session, from);
        let last = place(PLACE, session, u64::MAX);
        let range = table.range(first.as_slice()..=last.as_slice())?;
        let read = |pair: Result<(_, redb::AccessGuard<'_, &[u8]>), redb::StorageError>| {
            record(&table, TURN, number(pair?.1.value())?)
        };
        if reverse {
            range.rev().take(limit).map(read).collect()
        } else {
            range.take(limit).map(read).collect()
        }
    }
}

/// The table, in a transaction that writes.
struct Keys<'t>(Table<'t, &'static [u8], &'static [u8]>);

impl Keys<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.insert(key, value)?;
        Ok(())
    }

    /// Counts a record of a kind; its number.
    fn next(&mut self, kind: u8) -> Result<u64> {
        let key = [COUNTER, kind];
        let last = self.0.get(key.as_slice())?.map(|value| number(value.value())).transpose()?;
        let next = last.unwrap_or(0) + 1;
        self.put(&key, &next.to_be_bytes())?;
        let key = [&[COUNT], WORKSPACE.as_bytes()].concat();
        let counts = self.0.get(key.as_slice())?.map(|value| postcard::from_bytes(value.value()));
        let mut counts: [u64; 8] = counts.transpose()?.unwrap_or_default();
        counts[usize::from(kind)] += 1;
        self.put(&key, &postcard::to_stdvec(&counts)?)?;
        Ok(next)
    }

    /// Puts what leads to a new record: by its id, its workspace and its time.
    fn lead(&mut self, kind: u8, n: u64, id: &str, at: i64) -> Result<()> {
        self.put(&[&[ID, kind], id.as_bytes()].concat(), &n.to_be_bytes())?;
        self.put(&[&[MEMBER, kind], text(WORKSPACE).as_slice(), &n.to_be_bytes()].concat(), &[])?;
        for key in listed(TIME, kind, at, n) {
            self.put(&key, &[])?;
        }
        Ok(())
    }

    fn start(&mut self, id: &str) -> Result<()> {
        let (n, now) = (self.next(SESSION)?, Timestamp::now().as_micros());
        let session = Session {
            id: id.to_owned(),
            workspace: WORKSPACE.to_owned(),
            created_at: now,
            started_at: now,
            ended_at: None,
            model: None,
            mode: None,
            summary: None,
            metadata: "{}".to_owned(),
            next_turn: 0,
            next_step: 0,
            turn_count: 0,
            step_count: 0,
            total_tokens: 0,
            last_active: now,
        };
        self.put(&record_key(SESSION, n), &postcard::to_stdvec(&session)?)?;
        self.lead(SESSION, n, id, now)?;
        for key in listed(ACTIVE, SESSION, now, n) {
            self.put(&key, &[])?;
        }
        Ok(())
    }

    fn record(&mut self, session: &str, content: &str) -> Result<()> {
        let now = Timestamp::now().as_micros();
        let session_number = by_id(&self.0, SESSION, session)?;
        let mut row: Session = record(&self.0, SESSION, session_number)?;
        let (n, index) = (self.next(TURN)?, row.next_turn);
        let turn = Turn {
            id: TurnId::generate().to_string(),
            workspace: WORKSPACE.to_owned(),
            created_at: now,
            session: session.to_owned(),
            index,
            role: "user".to_owned(),
            content: content.to_owned(),
            model: None,
            tokens: None,
            embedding_id: None,
            metadata: "{}".to_owned(),
            tags: BTreeMap::new(),
        };
        self.put(&record_key(TURN, n), &postcard::to_stdvec(&turn)?)?;
        self.lead(TURN, n, &turn.id, now)?;
        self.put(&place(PLACE, session, index), &n.to_be_bytes())?;
        self.put(&place(USER_TURN, session, index), &n.to_be_bytes())?;

        for key in listed(ACTIVE, SESSION, row.last_active, session_number) {
            self.0.remove(key.as_slice())?;
        }
        row.last_active = row.last_active.max(now);
        row.next_turn += 1;
        row.turn_count += 1;
        for key in listed(ACTIVE, SESSION, row.last_active, session_number) {
            self.put(&key, &[])?;
        }
        self.put(&record_key(SESSION, session_number), &postcard::to_stdvec(&row)?)
    }
}

fn number(bytes: &[u8]) -> Result<u64> {
    Ok(u64::from_be_bytes(*bytes.last_chunk().context("no number")?))
}

/// A text that ends, in which U+0000 does not occur.
fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0, 0]].concat()
}

fn record_key(kind: u8, number: u64) -> Vec<u8> {
    [&[RECORD, kind], number.to_be_bytes().as_slice()].concat()
}

fn place(table: u8, session: &str, index: u64) -> Vec<u8> {
    [&[table, TURN], text(session).as_slice(), &index.to_be_bytes()].concat()
}

/// Among all, and among those of the workspace, newest first.
fn listed(table: u8, kind: u8, at: i64, number: u64) -> [Vec<u8>; 2] {
    let newest = !(at.cast_unsigned() ^ (1 << 63));
    let end = [newest.to_be_bytes(), number.to_be_bytes()].concat();
    [vec![0], [&[1], text(WORKSPACE).as_slice()].concat()]
        .map(|scope| [&[table, kind], scope.as_slice(), &end].concat())
}

fn by_id(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    kind: u8,
    id: &str,
) -> Result<u64> {
    let key = [&[ID, kind], id.as_bytes()].concat();
    number(table.get(key.as_slice())?.context("no such id")?.value())
}

fn record<T: DeserializeOwned>(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    kind: u8,
    number: u64,
) -> Result<T> {
    let value = table.get(record_key(kind, number).as_slice())?.context("no such record")?;
    Ok(postcard::from_bytes(value.value())?)
}

impl Store for HandRedb {
    fn name(&self) -> &'static str {
        "hand-written redb"
    }

    fn start_sessions(&mut self, ids: &[String]) -> Result<()> {
        self.commit(|keys| ids.iter().try_for_each(|id| keys.start(id)))
    }

    fn record(&mut self, session: &str, texts: &[String], writers: usize) -> Result<Vec<Duration>> {
        let mut waits = Vec::with_capacity(texts.len());
        for texts in texts.chunks(writers) {
            let started = Instant::now();
            self.commit(|keys| texts.iter().try_for_each(|text| keys.record(session, text)))?;
            waits.extend(std::iter::repeat_n(started.elapsed(), texts.len()));
        }
        Ok(waits)
    }

    fn record_batch(&mut self, turns: &[(&str, String)]) -> Result<()> {
        self.commit(|keys| turns.iter().try_for_each(|(session, text)| keys.record(session, text)))
    }

    fn newest_sessions(&mut self, limit: usize) -> Result<usize> {
        let table = self.0.begin_read()?.open_table(TABLE)?;
        let (first, last) = ([TIME, SESSION, 0], [TIME, SESSION, 1]);
        let mut sessions = Vec::new();
        for pair in table.range(first.as_slice()..last.as_slice())?.take(limit) {
            let session: Session = record(&table, SESSION, number(pair?.0.value())?)?;
            let (first, last) =
                (place(USER_TURN, &session.id, 0), place(USER_TURN, &session.id, u64::MAX));
            let prompt = table.range(first.as_slice()..=last.as_slice())?.next();
            let prompt: Option<Turn> = match prompt {
                Some(pair) => Some(record(&table, TURN, number(pair?.1.value())?)?),
                None => None,
            };
            sessions.push((session, prompt));
        }
        Ok(std::hint::black_box(sessions).len())
    }

    fn last_turns(&mut self, session: &str, n: usize) -> Result<usize> {
        Ok(std::hint::black_box(self.turns(session, 0, true, n)?).len())
    }

    fn page_through(&mut self, session: &str, page: usize) -> Result<(Vec<Duration>, usize)> {
        let (mut times, mut turns) = (Vec::new(), 0);
        loop {
            let started = Instant::now();
            // No turn was deleted, so that indexes have no gaps.
            let read = self.turns(session, turns as u64, false, page)?.len();
            times.push(started.elapsed());
            turns += read;
            if read < page {
                return Ok((times, turns));
            }
        }
    }
}

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::Hash,
    ops::Bound,
};

use memkeep_core::{
    AuditHead, AuditRecord, Counts, Page, Position, Record, RecordKind, Result, Scan, Scope,
    Session, SessionId, Step, StoredReceipt, Turn, Workspace,
    decide::{Change, Loaded, Needs, Origin, Put, Stored},
    first_prompt,
};

use crate::kind::Kind;

/// All that is stored, in memory.
#[derive(Default)]
pub(crate) struct Tables {
    /// By the number that is given at insertion.
    rows: BTreeMap<(RecordKind, u64), (Record, Option<Origin>)>,
    numbers: HashMap<Name, u64>,
    /// What is listed by position: the session or chain, and the index in it.
    places: BTreeMap<(RecordKind, String, u64), u64>,
    receipts: HashMap<String, StoredReceipt>,
    /// The number that the next change gives, if what it puts is new.
    pub(crate) next: u64,
}

/// What a record is known by: its kind and id; the workspace too where ids are unique only in it.
type Name = (RecordKind, Option<Workspace>, String);

fn name(record: &Record) -> Name {
    let workspace = matches!(record, Record::State(_)).then(|| record.workspace().clone());
    (record.kind(), workspace, record.id().to_owned())
}

fn named(kind: RecordKind, id: &str) -> Name {
    (kind, None, id.to_owned())
}

fn place(record: &Record) -> Option<(RecordKind, String, u64)> {
    let (owner, index) = match record {
        Record::Turn(turn) => (turn.session.as_str(), turn.index),
        Record::Step(step) => (step.session.as_str(), step.index),
        Record::Audit(audit) => (audit.workspace.as_str(), audit.seq),
        _ => return None,
    };
    Some((record.kind(), owner.to_owned(), index))
}

/// What `get` finds for each of `keys`.
fn pick<K: Clone + Eq + Hash, T>(
    keys: &BTreeSet<K>,
    get: impl Fn(&K) -> Option<T>,
) -> HashMap<K, T> {
    keys.iter().filter_map(|key| Some((key.clone(), get(key)?))).collect()
}

impl Tables {
    /// The rows that a batch needs. What is not there is left out.
    pub(crate) fn load(&self, needs: &Needs) -> Loaded {
        let turns = pick(&needs.turns, |id| self.stored::<Turn>(id.as_str()));
        // The session of each turn that is named is needed too.
        let sessions = turns.values().map(|turn| turn.record.session.clone());
        let sessions: BTreeSet<SessionId> = sessions.chain(needs.sessions.clone()).collect();
        Loaded {
            receipt: needs.receipt.as_ref().and_then(|key| self.receipts.get(key).cloned()),
            sessions: pick(&sessions, |id| self.stored(id.as_str())),
            turns,
            steps: pick(&needs.steps, |id| self.get(id.as_str()).cloned()),
            episodes: pick(&needs.episodes, |id| self.stored(id.as_str())),
            notes: pick(&needs.notes, |id| self.get(id.as_str()).cloned()),
            states: pick(&needs.states, |key| self.find(Some(&key.workspace), &key.key).cloned()),
            audits: pick(&needs.audits, |id| self.get(id.as_str()).cloned()),
            audit_heads: pick(&needs.audit_heads, |workspace| Some(self.audit_head(workspace))),
            turn_slots: pick(&needs.turn_slots, |(session, index)| {
                self.at::<Turn>(session, *index).map(|turn| turn.id.clone())
            }),
            step_slots: pick(&needs.step_slots, |(session, index)| {
                self.at::<Step>(session, *index).map(|step| step.id.clone())
            }),
            workspaces: pick(&needs.workspaces, |workspace| Some(self.counts(workspace))),
        }
    }

    /// Applies one change. It cannot fail, and knows no rule.
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::DeleteWorkspace(workspace) => {
                let rows = self.rows.values().map(|(record, _)| record);
                let gone = rows.filter(|record| *record.workspace() == workspace);
                self.remove_all(&gone.map(name).collect::<Vec<_>>());
            }
            Change::DeleteSession(id) => {
                let turns = self.placed(id.as_str()).map(|(_, turn): (_, &Turn)| &turn.id);
                let turns = turns.map(|id| named(RecordKind::Turn, id.as_str()));
                let steps = self.placed(id.as_str()).map(|(_, step): (_, &Step)| &step.id);
                let steps = steps.map(|id| named(RecordKind::Step, id.as_str()));
                self.remove_all(&turns.chain(steps).collect::<Vec<_>>());
                self.remove(&named(RecordKind::Session, id.as_str()));
            }
            Change::DeleteTurn(id) => self.remove(&named(RecordKind::Turn, id.as_str())),
            Change::DeleteEpisode(id) => self.remove(&named(RecordKind::Episode, id.as_str())),
            Change::DeleteNote(id) => self.remove(&named(RecordKind::Note, id.as_str())),
            Change::DeleteReceipts(before) => self.receipts.retain(|_, row| row.at >= before),
            Change::PutSession(put) => self.put(Record::Session(put.row.record), put.row.origin),
            Change::PutTurn(put) => self.put(Record::Turn(put.row.record), put.row.origin),
            Change::PutStep(step) => self.put(Record::Step(step), None),
            Change::PutEpisode(put) => self.put(Record::Episode(put.row.record), put.row.origin),
            Change::PutNote(note) => self.put(Record::Note(note), None),
            Change::PutState(put) => self.put(Record::State(put.row), None),
            Change::PutAudit(audit) => self.put(Record::Audit(audit), None),
            Change::PutReceipt(row) => drop(self.receipts.insert(row.key.clone(), row)),
        }
        self.next += 1;
    }

    /// Puts a record in the place of the one of its name, or after all others.
    fn put(&mut self, record: Record, origin: Option<Origin>) {
        let number = *self.numbers.entry(name(&record)).or_insert(self.next);
        self.places.extend(place(&record).map(|place| (place, number)));
        self.rows.insert((record.kind(), number), (record, origin));
    }

    fn remove(&mut self, name: &Name) {
        let number = self.numbers.remove(name);
        let row = number.and_then(|number| self.rows.remove(&(name.0, number)));
        if let Some(place) = row.and_then(|(record, _)| place(&record)) {
            self.places.remove(&place);
        }
    }

    fn remove_all(&mut self, names: &[Name]) {
        for name in names {
            self.remove(name);
        }
    }

    /// Changes that make these tables out of empty ones, each with the number that it is applied at.
    pub(crate) fn snapshot(&self) -> impl Iterator<Item = (u64, Change)> {
        let rows = self.rows.iter().map(|((_, number), (record, origin))| {
            let (origin, new) = (*origin, true);
            let change = match record.clone() {
                Record::Session(record) => {
                    Change::PutSession(Put { row: Stored { record, origin }, new })
                }
                Record::Turn(record) => {
                    Change::PutTurn(Put { row: Stored { record, origin }, new })
                }
                Record::Step(step) => Change::PutStep(step),
                Record::Episode(record) => {
                    Change::PutEpisode(Put { row: Stored { record, origin }, new })
                }
                Record::Note(note) => Change::PutNote(note),
                Record::State(row) => Change::PutState(Put { row, new }),
                Record::Audit(audit) => Change::PutAudit(audit),
            };
            (*number, change)
        });
        rows.chain(self.receipts.values().map(|row| (0, Change::PutReceipt(row.clone()))))
    }

    fn row(&self, name: &Name) -> Option<&(Record, Option<Origin>)> {
        self.rows.get(&(name.0, *self.numbers.get(name)?))
    }

    /// The record `id`, of a workspace where ids are unique only in it.
    pub(crate) fn find<T: Kind>(&self, workspace: Option<&Workspace>, id: &str) -> Option<&T> {
        T::of(&self.row(&(T::KIND, workspace.cloned(), id.to_owned()))?.0)
    }

    /// The record `id`.
    pub(crate) fn get<T: Kind>(&self, id: &str) -> Option<&T> {
        self.find(None, id)
    }

    fn stored<T: Kind + Clone>(&self, id: &str) -> Option<Stored<T>> {
        let (record, origin) = self.row(&named(T::KIND, id))?;
        Some(Stored { record: T::of(record)?.clone(), origin: *origin })
    }

    /// The record at an index of a session.
    fn at<T: Kind>(&self, session: &SessionId, index: u64) -> Option<&T> {
        let number = self.places.get(&(T::KIND, session.as_str().to_owned(), index))?;
        T::of(&self.rows.get(&(T::KIND, *number))?.0)
    }

    /// The records of one session or chain, in order of index, each with it.
    pub(crate) fn placed<T: Kind>(
        &self,
        owner: &str,
    ) -> impl DoubleEndedIterator<Item = (u64, &T)> + use<'_, T> {
        let from = (T::KIND, owner.to_owned(), 0);
        let places = self.places.range(from..=(T::KIND, owner.to_owned(), u64::MAX));
        places.filter_map(|((_, _, index), number)| {
            Some((*index, T::of(&self.rows.get(&(T::KIND, *number))?.0)?))
        })
    }

    /// The records of a scope with their numbers, in order of insertion.
    pub(crate) fn seen<T: Kind>(&self, scope: &Scope) -> impl Iterator<Item = (u64, &T)> {
        let rows = self.rows.range((T::KIND, 0)..=(T::KIND, u64::MAX));
        let rows = rows.filter(|(_, (record, _))| scope.includes(record.workspace()));
        rows.filter_map(|((_, number), (record, _))| Some((*number, T::of(record)?)))
    }

    pub(crate) fn scan(&self, scan: &Scan) -> Result<Page<Record>> {
        let window = scan.window()?;
        let from = window
            .insertion()
            .map_or(Bound::Included((scan.kind, 0)), |after| Bound::Excluded((scan.kind, after)));
        let rows = self.rows.range((from, Bound::Included((scan.kind, u64::MAX))));
        let seen = rows.filter(|(_, (record, _))| scan.scope.includes(record.workspace()));
        let rows = seen.map(|((_, n), (record, _))| (record.clone(), Position::Insertion(*n)));
        Ok(window.first(rows))
    }

    /// A session as reads show it.
    pub(crate) fn shown(&self, session: &Session) -> Session {
        let mut turns = self.placed(session.id.as_str()).map(|(_, turn): (_, &Turn)| turn);
        let first = turns.find(|turn| turn.role == "user");
        let first_prompt = first.map(|turn| first_prompt(&turn.content).to_owned());
        Session { first_prompt, ..session.clone() }
    }

    pub(crate) fn audit_head(&self, workspace: &Workspace) -> AuditHead {
        let last = self.placed::<AuditRecord>(workspace.as_str()).next_back();
        last.map_or_else(|| AuditHead::empty(workspace.clone()), |(_, record)| record.head())
    }

    fn counts(&self, workspace: &Workspace) -> Counts {
        let mut counts = Counts::default();
        for (record, _) in self.rows.values().filter(|(record, _)| record.workspace() == workspace)
        {
            // What a deleted entry leaves is no entry.
            if !matches!(record, Record::State(slot) if slot.value.is_none()) {
                counts += Counts::one(record.kind());
            }
        }
        counts
    }
}

//! What the memory answers to reads: by looking at all of it.

use std::collections::BTreeMap;

use memkeep_core::{
    Counts, ErrorKind, Record, RecordKind, Session, Timestamp, Turn, Workspace, WorkspaceCounts,
    recall::{Analyzer, Document, Ranker, Scorer, Substring},
};

use super::{
    answer::Answer,
    command::{Listing, Of, Read, Recall, scope},
    knowledge::is_live,
    memory::Memory,
    row::{Kept, Row, find},
};

/// Where a row stands in a listing: rows are listed by it, ascending.
pub(super) type Place = (String, String, i64, u64);

const PROMPT_CHARS: usize = 256;

impl Memory {
    /// What a read answers at `now`.
    pub(super) fn answer(&self, read: &Read, now: Timestamp) -> Answer {
        match read {
            Read::ById { kind, scope, id } => self.by_id(*kind, scope.as_ref(), id),
            Read::State { workspace, key } => {
                let slot = self.slot(workspace, key).filter(|slot| is_live(slot, now));
                Answer::Records(slot.cloned().map(Record::State).into_iter().collect())
            }
            Read::All(listing) => match self.list(listing, now) {
                Ok(_) if listing.limit == 0 => Answer::Records(Vec::new()),
                Ok(rows) => Answer::Records(rows.into_iter().map(|(_, record)| record).collect()),
                Err(kind) => Answer::Refused(kind),
            },
            Read::Find { text, scope, role, limit } => {
                self.find(text, scope.as_ref(), role.as_deref(), *limit)
            }
            Read::Recall(recall) => self.recall(recall),
            Read::AuditHead { workspace } => Answer::Head(self.audit_head(workspace)),
            Read::Workspaces => {
                let row = |(workspace, counts)| WorkspaceCounts { workspace, counts };
                Answer::Workspaces(self.workspaces().into_iter().map(row).collect())
            }
            Read::Stats { scope: seen } => {
                let mut counts = Counts::default();
                let all = self.workspaces().into_iter();
                all.filter(|(w, _)| scope(seen.as_ref()).includes(w))
                    .for_each(|(_, c)| counts += c);
                Answer::Counts(counts)
            }
        }
    }

    fn by_id(&self, kind: RecordKind, workspace: Option<&Workspace>, id: &str) -> Answer {
        let scope = scope(workspace);
        let seen = |record: &Record| record.id() == id && scope.includes(record.workspace());
        let found = self.records(kind).into_iter().find(seen);
        Answer::Records(found.map(|record| self.prompted(record)).into_iter().collect())
    }

    fn workspaces(&self) -> BTreeMap<Workspace, Counts> {
        let mut all = BTreeMap::new();
        for record in RecordKind::ALL.into_iter().flat_map(|kind| self.records(kind)) {
            let workspace = record.workspace();
            if !all.contains_key(workspace) {
                all.insert(workspace.clone(), self.counts(workspace));
            }
        }
        all.retain(|_, counts| counts.total() > 0);
        all
    }

    /// A session as reads show it; any other record as it is.
    fn prompted(&self, record: Record) -> Record {
        let Record::Session(session) = record else { return record };
        let turns = self.turns.iter().map(|row| &row.record);
        let asked = turns.filter(|turn| turn.session == session.id && turn.role == "user");
        let first = asked.min_by_key(|turn| turn.index);
        let first_prompt = first.map(|turn| turn.content.chars().take(PROMPT_CHARS).collect());
        Record::Session(Session { first_prompt, ..session })
    }

    /// All rows of a listing in its order.
    pub(super) fn list(
        &self,
        Listing { of, scope: seen, .. }: &Listing,
        now: Timestamp,
    ) -> Result<Vec<(Place, Record)>, ErrorKind> {
        let seen = scope(seen.as_ref());
        let known = |session: &str| {
            let there = find(&self.sessions, session);
            let there = there.filter(|row| seen.includes(&row.record.workspace));
            there.map(|_| ()).ok_or(ErrorKind::NotFound)
        };
        let by_insertion = |inserted: u64| (String::new(), String::new(), 0, inserted);
        let by_time =
            |at: Timestamp, inserted: u64| (String::new(), String::new(), at.as_micros(), inserted);
        let newest = |at: Timestamp, inserted: u64| {
            (String::new(), String::new(), -at.as_micros(), inserted)
        };
        let index = |index: u64| i64::try_from(index).unwrap_or(i64::MAX);
        let mut rows = match of {
            Of::Scan(kind) => {
                macro_rules! scan {
                    ($rows:ident) => {
                        placed(&self.$rows, |_, inserted| Some(by_insertion(inserted)))
                    };
                }
                match kind {
                    RecordKind::Session => scan!(sessions),
                    RecordKind::Turn => scan!(turns),
                    RecordKind::Step => scan!(steps),
                    RecordKind::Episode => scan!(episodes),
                    RecordKind::Note => scan!(notes),
                    RecordKind::State => scan!(states),
                    RecordKind::Audit => scan!(audits),
                }
            }
            Of::Episodes { open } => placed(&self.episodes, |episode, inserted| {
                let listed = open.is_none_or(|open| open == episode.open);
                listed.then(|| by_time(episode.created_at, inserted))
            }),
            Of::Notes => {
                placed(&self.notes, |note, inserted| Some(by_time(note.created_at, inserted)))
            }
            Of::Sessions { by_activity } => placed(&self.sessions, |session, inserted| {
                let at = if *by_activity { session.last_active } else { session.started_at };
                Some(newest(at, inserted))
            }),
            Of::Turns { session, newest_first } => {
                known(session)?;
                placed(&self.turns, |turn, _| {
                    let place = index(turn.index);
                    let place = if *newest_first { -place } else { place };
                    (turn.session.as_str() == session)
                        .then(|| (String::new(), String::new(), place, 0))
                })
            }
            Of::Steps { session } => {
                known(session)?;
                placed(&self.steps, |step, _| {
                    (step.session.as_str() == session)
                        .then(|| (String::new(), String::new(), index(step.index), 0))
                })
            }
            Of::States { prefix } => placed(&self.states, |slot, _| {
                let listed = is_live(slot, now) && slot.key.starts_with(prefix);
                listed.then(|| (slot.workspace.as_str().to_owned(), slot.key.clone(), 0, 0))
            }),
            Of::Audit => placed(&self.audits, |audit, _| {
                Some((audit.workspace.as_str().to_owned(), String::new(), index(audit.seq), 0))
            }),
        };
        rows.retain(|(_, record)| seen.includes(record.workspace()));
        rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        if matches!(of, Of::Sessions { .. }) {
            return Ok(rows.into_iter().map(|(place, r)| (place, self.prompted(r))).collect());
        }
        Ok(rows)
    }

    fn find(
        &self,
        text: &str,
        workspace: Option<&Workspace>,
        role: Option<&str>,
        limit: usize,
    ) -> Answer {
        if text.is_empty() {
            return Answer::Refused(ErrorKind::InvalidArgument);
        }
        let (scope, sought) = (scope(workspace), Substring::new(text));
        let mut found: Vec<&Turn> = self.turns.iter().map(|row| &row.record).collect();
        found.retain(|turn| {
            scope.includes(&turn.workspace)
                && role.is_none_or(|role| role == turn.role)
                && sought.matches(&turn.content)
        });
        // A stable sort: insertion decides among equals.
        found.sort_by_key(|turn| std::cmp::Reverse(turn.created_at));
        Answer::Records(found.into_iter().take(limit).cloned().map(Record::Turn).collect())
    }

    fn recall(&self, asked: &Recall) -> Answer {
        let scorer = asked.scorer.unwrap_or(match asked.kind {
            RecordKind::Turn => Scorer::Context,
            RecordKind::Note => Scorer::Bm25,
            _ => Scorer::Overlap,
        });
        let mut ranker = Ranker::new(&asked.text, scorer, asked.k, &Analyzer::default());
        let scope = scope(asked.scope.as_ref());
        let records = self.records(asked.kind).into_iter();
        let records: Vec<Record> =
            records.filter(|record| scope.includes(record.workspace())).collect();
        for (position, record) in records.iter().enumerate() {
            let (text, at, passes): (Vec<&str>, Timestamp, bool) = match record {
                Record::Episode(r) => {
                    let passes = asked.open.is_none_or(|open| open == r.open);
                    (vec![&r.problem, &r.summary], r.created_at, passes)
                }
                Record::Turn(r) => {
                    let passes = asked.role.as_ref().is_none_or(|role| *role == r.role)
                        && asked.tag.as_ref().is_none_or(|tag| r.tags.contains_key(tag))
                        && asked.session.as_ref().is_none_or(|s| s == r.session.as_str());
                    (vec![&r.content], r.created_at, passes)
                }
                Record::Note(r) => {
                    let is_source = |id: &String| r.sources.iter().any(|s| s.as_str() == id);
                    let passes = asked.source.as_ref().is_none_or(is_source);
                    (vec![&r.text], r.created_at, passes)
                }
                _ => continue,
            };
            let in_time = asked.since.is_none_or(|since| at >= since)
                && asked.until.is_none_or(|until| at < until);
            let session = match record {
                Record::Turn(turn) => Some((turn.session.as_str(), turn.index)),
                _ => None,
            };
            ranker.add(
                position,
                &Document {
                    text: &text,
                    created_at: at.as_micros(),
                    open: matches!(record, Record::Episode(r) if r.open),
                    session,
                    eligible: passes && in_time,
                },
            );
        }
        let hit = |ranked: memkeep_core::recall::Ranked<usize>| {
            (ranked.score.to_bits(), records[ranked.key].clone())
        };
        Answer::Hits(ranker.finish().into_iter().map(hit).collect())
    }

    /// What is over before an instant goes; the counts of it.
    pub(super) fn prune(
        &mut self,
        before: Timestamp,
        workspace: Option<&Workspace>,
        now: Timestamp,
    ) -> Counts {
        let scope = scope(workspace);
        let over = |at: Option<Timestamp>| at.is_some_and(|at| at < before);
        let mut ops = Vec::new();
        for Row { record, .. } in &self.sessions {
            if scope.includes(&record.workspace) && over(record.ended_at) {
                let session = record.id.clone();
                ops.push(memkeep_core::Op::DeleteSession { session, ended_before: None });
            }
        }
        for Row { record, .. } in &self.episodes {
            if scope.includes(&record.workspace) && over(record.closed_at) {
                let episode = record.id.clone();
                ops.push(memkeep_core::Op::DeleteEpisode { episode, closed_before: None });
            }
        }
        for Row { record, .. } in &self.states {
            // An entry that is still to be read has not expired, whatever the instant.
            let expired = record.value.is_some() && !is_live(record, now);
            if scope.includes(&record.workspace) && expired && over(record.expires_at) {
                let delete = memkeep_core::DeleteState::new(&record.key);
                ops.push(delete.workspace(&record.workspace).into());
            }
        }
        ops.push(memkeep_core::Op::ForgetReceipts { before });
        let mut counts = Counts::default();
        let batch = memkeep_core::Batch { ops, key: None };
        for outcome in self.commit(&batch, now, None).map(|r| r.outcomes).unwrap_or_default() {
            if let memkeep_core::Outcome::Deleted(deleted) = outcome {
                counts += deleted.counts;
            }
        }
        counts
    }
}

/// Each row of a kind with its place, if it is listed.
fn placed<T: Kept>(
    rows: &[Row<T>],
    place: impl Fn(&T, u64) -> Option<Place>,
) -> Vec<(Place, Record)> {
    let row = |row: &Row<T>| {
        let place = place(&row.record, row.inserted)?;
        Some((place, row.record.clone().record()))
    };
    rows.iter().filter_map(row).collect()
}

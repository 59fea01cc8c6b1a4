use memkeep_core::{
    Batch, Op, Outcome, RecallQuery, Record, RecordKind, Scope, SessionId, Timestamp,
    recall::{Analyzer, Document, Ranked, Ranker},
};

use crate::{Case, Failure, Verdict, failure::must_equal};

/// The records of one kind that a store must hold, in order of insertion: what recall is computed
/// from to compare a backend's answer with.
pub(super) struct Mirror {
    kind: RecordKind,
    pub(super) records: Vec<Record>,
}

impl Mirror {
    pub(super) fn new(kind: RecordKind) -> Self {
        Self { kind, records: Vec::new() }
    }

    /// Commits a batch, and does here what it did.
    pub(super) async fn commit(&mut self, case: &Case, batch: Batch) -> Verdict {
        let ops = batch.ops.clone();
        let receipt = case.backend().commit(batch).await?;
        for (op, outcome) in ops.iter().zip(receipt.outcomes) {
            match (op, outcome) {
                (Op::DeleteSession { session, .. }, _) => {
                    self.records.retain(|record| session_of(record) != Some(session));
                }
                (Op::DeleteTurn { turn }, _) => self.remove(turn.as_str()),
                (Op::DeleteEpisode { episode, .. }, _) => self.remove(episode.as_str()),
                (Op::DeleteNote { note }, _) => self.remove(note.as_str()),
                (Op::ForgetWorkspace { workspace }, _) => {
                    self.records.retain(|record| record.workspace() != workspace);
                }
                (_, Outcome::Turn(turn)) => self.put(Record::Turn(turn)),
                (_, Outcome::Episode(episode)) => self.put(Record::Episode(episode)),
                (_, Outcome::Note(note)) => self.put(Record::Note(note)),
                (_, Outcome::Restored { record, .. }) => self.put(record),
                _ => {}
            }
        }
        Ok(())
    }

    fn remove(&mut self, id: &str) {
        self.records.retain(|record| record.id() != id);
    }

    fn put(&mut self, record: Record) {
        match self.records.iter_mut().find(|there| there.id() == record.id()) {
            Some(there) => *there = record,
            None if record.kind() == self.kind => self.records.push(record),
            None => {}
        }
    }

    /// What recall must answer: ids and scores, best first.
    pub(super) fn ranked(&self, query: &RecallQuery) -> Vec<(&str, f64)> {
        let scorer = query.scorer_for(self.kind);
        let mut ranker = Ranker::new(&query.text, scorer, query.k, &Analyzer::default());
        for record in &self.records {
            let seen = match &query.scope {
                Scope::All => true,
                Scope::Workspace(workspace) => workspace == record.workspace(),
            };
            if seen {
                add(&mut ranker, query, record);
            }
        }
        ranker.finish().into_iter().map(|Ranked { key, score }| (key, score)).collect()
    }

    /// The store answers `query` with the same records in the same order with the same scores.
    pub(super) async fn compare(&self, case: &Case, query: &RecallQuery) -> Verdict {
        let hits = hits(case, self.kind, query).await?;
        let answer: Vec<(&str, f64)> = hits.iter().map(|(r, score)| (r.id(), *score)).collect();
        must_equal!(answer, self.ranked(query), "ids and scores of {query:?}");
        for (hit, _) in &hits {
            let stored = self.records.iter().find(|record| record.id() == hit.id());
            must_equal!(Some(hit), stored, "the record found");
        }
        Ok(())
    }
}

fn session_of(record: &Record) -> Option<&SessionId> {
    match record {
        Record::Turn(turn) => Some(&turn.session),
        _ => None,
    }
}

fn add<'a>(ranker: &mut Ranker<&'a str>, query: &RecallQuery, record: &'a Record) {
    let in_time = |at: Timestamp| {
        query.since.is_none_or(|since| since <= at) && query.until.is_none_or(|until| at < until)
    };
    let document = |at: Timestamp, passes: bool| Document {
        text: &[],
        created_at: at.as_micros(),
        open: false,
        session: None,
        eligible: passes && in_time(at),
    };
    match record {
        Record::Episode(r) => {
            let passes = query.open.is_none_or(|open| open == r.open);
            let text = &[r.problem.as_str(), r.summary.as_str()];
            let document = Document { text, open: r.open, ..document(r.created_at, passes) };
            ranker.add(r.id.as_str(), &document);
        }
        Record::Turn(r) => {
            let passes = query.role.as_ref().is_none_or(|role| *role == r.role)
                && query.tag.as_ref().is_none_or(|tag| r.tags.contains_key(tag))
                && query.session.as_ref().is_none_or(|session| *session == r.session);
            let session = Some((r.session.as_str(), r.index));
            let text = &[r.content.as_str()];
            ranker
                .add(r.id.as_str(), &Document { text, session, ..document(r.created_at, passes) });
        }
        Record::Note(r) => {
            let passes = query.source.as_ref().is_none_or(|source| r.sources.contains(source));
            let text = &[r.text.as_str()];
            ranker.add(r.id.as_str(), &Document { text, ..document(r.created_at, passes) });
        }
        _ => {}
    }
}

/// What a store answers from its records of `kind`, with the scores.
pub(super) async fn hits(
    case: &Case,
    kind: RecordKind,
    query: &RecallQuery,
) -> Result<Vec<(Record, f64)>, Failure> {
    macro_rules! hits {
        ($store:ident.$recall:ident, $variant:ident) => {{
            let hits = case.$store()?.$recall(query).await?;
            hits.into_iter().map(|hit| (Record::$variant(hit.record), hit.score)).collect()
        }};
    }
    Ok(match kind {
        RecordKind::Episode => hits!(episodic.recall, Episode),
        RecordKind::Turn => hits!(sessions.recall_turns, Turn),
        RecordKind::Note => hits!(reflective.recall_notes, Note),
        _ => return Err(Failure::new("a kind that is recalled", kind.as_str())),
    })
}

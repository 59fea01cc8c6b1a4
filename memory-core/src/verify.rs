//! Whether the records of a store agree with each other.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::{
    AuditHead, Backend, Counts, Error, ErrorKind, Record, RecordKind, Result, Scan, Scope, Session,
    SessionId, Step, Turn, Workspace, maintain::PAGE,
};

/// What [`Backend::verify`] is to do.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Verify {
    /// Set derived values right: counts, totals and next indexes of sessions, and what the engine
    /// can rebuild of its own.
    pub repair: bool,
}

impl Verify {
    /// Only look.
    pub fn new() -> Self {
        Self::default()
    }

    /// Set derived values right.
    #[must_use]
    pub fn repair(mut self, repair: bool) -> Self {
        self.repair = repair;
        self
    }
}

/// What [`Backend::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VerifyReport {
    /// How many records were looked at.
    pub checked: Counts,
    /// What is not as it must be, in the order in which it was found.
    pub problems: Vec<Problem>,
}

impl VerifyReport {
    /// Whether nothing is wrong, or all that was has been repaired.
    pub fn is_clean(&self) -> bool {
        self.problems.iter().all(|problem| problem.repaired)
    }
}

/// One thing that is not as it must be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// Where: a record's kind or an engine's structure, and its id or row.
    pub location: String,
    /// What is wrong.
    pub message: String,
    /// Whether it has been set right.
    pub repaired: bool,
}

impl Problem {
    /// A problem that stands.
    pub fn new(location: impl Into<String>, message: impl Into<String>) -> Self {
        Self { location: location.into(), message: message.into(), repaired: false }
    }

    /// A row that cannot be read. Of a record's, [`Verifier::unreadable`] is to be told.
    pub fn unreadable(error: &Error) -> Self {
        let at = |name| error.get(name).unwrap_or("unknown");
        Self::new(format!("{} {}", at("table"), at("row")), error.to_string())
    }
}

/// Verifies by plain reads. A kind with an unreadable row is read no further.
pub(crate) async fn scan<B: Backend + ?Sized>(backend: &B, _: &Verify) -> Result<VerifyReport> {
    let mut verifier = Verifier::default();
    for kind in backend.info().kinds {
        let mut scan = Scan::new(kind).scope(Scope::All).limit(PAGE);
        loop {
            let page = match backend.scan(&scan).await {
                Ok(page) => page,
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    verifier.unreadable(kind, &error);
                    break;
                }
                Err(error) => return Err(error),
            };
            for record in page.items {
                verifier.record(record);
            }
            match page.next {
                None => break,
                next => scan.after = next,
            }
        }
    }
    Ok(verifier.finish().0)
}

/// Compares records with each other. They come kind by kind in the order of [`RecordKind::ALL`],
/// within a kind in order of insertion.
#[derive(Default)]
pub struct Verifier {
    report: VerifyReport,
    sessions: HashMap<SessionId, Tally>,
    heads: HashMap<Workspace, AuditHead>,
    unreadable: HashSet<RecordKind>,
}

/// A session, and what its turns and steps add up to.
struct Tally {
    stored: Session,
    turns: Vec<u64>,
    steps: Vec<u64>,
    tokens: i128,
    last_active: crate::Timestamp,
}

impl Verifier {
    /// Notes a problem that was found elsewhere.
    pub fn problem(&mut self, problem: Problem) {
        self.report.problems.push(problem);
    }

    /// Notes that a record of a kind cannot be read. What is derived from records of that kind is
    /// then not judged: it may well be right.
    pub fn unreadable(&mut self, kind: RecordKind, error: &Error) {
        self.unreadable.insert(kind);
        self.problem(Problem::unreadable(error));
    }

    fn wrong(&mut self, kind: RecordKind, id: impl std::fmt::Display, message: impl Into<String>) {
        self.problem(Problem::new(format!("{} {id}", kind.as_str()), message));
    }

    /// Looks at one record.
    pub fn record(&mut self, record: Record) {
        let checked = &mut self.report.checked;
        match record {
            Record::Session(session) => {
                checked.sessions += 1;
                let tally = Tally {
                    last_active: session.started_at,
                    stored: session,
                    turns: Vec::new(),
                    steps: Vec::new(),
                    tokens: 0,
                };
                self.sessions.insert(tally.stored.id.clone(), tally);
            }
            Record::Turn(turn) => {
                checked.turns += 1;
                self.turn(&turn);
            }
            Record::Step(step) => {
                checked.steps += 1;
                self.step(&step);
            }
            Record::Episode(episode) => {
                checked.episodes += 1;
                if episode.open != episode.closed_at.is_none() {
                    let message = "open and closed_at contradict each other";
                    self.wrong(RecordKind::Episode, episode.id, message);
                }
            }
            Record::Note(_) => checked.notes += 1,
            Record::State(slot) => {
                checked.states += u64::from(slot.value.is_some());
                if slot.version == 0 {
                    self.wrong(RecordKind::State, slot.key, "its version is 0");
                }
            }
            Record::Audit(record) => {
                checked.audits += 1;
                let head = self
                    .heads
                    .entry(record.workspace.clone())
                    .or_insert_with(|| AuditHead::empty(record.workspace.clone()));
                let message = if record.seq != head.seq + 1 {
                    Some(format!("seq {} follows seq {}", record.seq, head.seq))
                } else if record.hash != record.expected_hash(&head.hash) {
                    Some(format!("seq {}: the hash is not that of the record", record.seq))
                } else {
                    None
                };
                *head = record.head();
                if let Some(message) = message {
                    let workspace = record.workspace.as_str().escape_debug();
                    self.wrong(
                        RecordKind::Audit,
                        record.id,
                        format!("{message} (workspace {workspace})"),
                    );
                }
            }
        }
    }

    fn orphan(&mut self, kind: RecordKind, id: &str) {
        // A session that cannot be read is a problem of its own.
        if !self.unreadable.contains(&RecordKind::Session) {
            self.wrong(kind, id, "its session is not there");
        }
    }

    fn turn(&mut self, turn: &Turn) {
        let Some(tally) = self.sessions.get_mut(&turn.session) else {
            return self.orphan(RecordKind::Turn, turn.id.as_str());
        };
        tally.turns.push(turn.index);
        tally.tokens += i128::from(turn.tokens.unwrap_or(0));
        tally.last_active = tally.last_active.max(turn.created_at);
        if tally.stored.workspace != turn.workspace {
            self.wrong(RecordKind::Turn, &turn.id, "its session is of another workspace");
        }
    }

    fn step(&mut self, step: &Step) {
        let Some(tally) = self.sessions.get_mut(&step.session) else {
            return self.orphan(RecordKind::Step, step.id.as_str());
        };
        tally.steps.push(step.index);
        tally.last_active = tally.last_active.max(step.created_at);
        if tally.stored.workspace != step.workspace {
            self.wrong(RecordKind::Step, &step.id, "its session is of another workspace");
        }
    }

    /// The report, and the sessions whose derived fields are wrong, as they should be. Problems of
    /// these sessions start with `session ID`.
    pub fn finish(mut self) -> (VerifyReport, Vec<Session>) {
        let mut repaired = Vec::new();
        let mut tallies: Vec<Tally> = std::mem::take(&mut self.sessions).into_values().collect();
        tallies.sort_by(|a, b| a.stored.id.cmp(&b.stored.id));
        for tally in tallies {
            repaired.extend(self.session(tally));
        }
        (self.report, repaired)
    }

    fn session(&mut self, mut tally: Tally) -> Option<Session> {
        let stored = tally.stored;
        for (what, indexes) in [("turns", &mut tally.turns), ("steps", &mut tally.steps)] {
            indexes.sort_unstable();
            if let Some([index, _]) = indexes.windows(2).find(|pair| pair[0] == pair[1]) {
                let message = format!("two {what} have the index {index}");
                self.wrong(RecordKind::Session, &stored.id, message);
            }
        }
        let after = |indexes: &[u64]| indexes.last().map_or(0, |last| last.saturating_add(1));
        let all_turns = !self.unreadable.contains(&RecordKind::Turn);
        let all_steps = !self.unreadable.contains(&RecordKind::Step);
        let tokens = i64::try_from(tally.tokens).ok().filter(|_| all_turns);
        let right = Session {
            turn_count: if all_turns { tally.turns.len() as u64 } else { stored.turn_count },
            step_count: if all_steps { tally.steps.len() as u64 } else { stored.step_count },
            total_tokens: tokens.unwrap_or(stored.total_tokens),
            next_turn: stored.next_turn.max(after(&tally.turns)),
            next_step: stored.next_step.max(after(&tally.steps)),
            last_active: stored.last_active.max(tally.last_active),
            ..stored.clone()
        };
        let facts = |s: &Session| {
            [
                ("turn_count", s.turn_count.to_string()),
                ("step_count", s.step_count.to_string()),
                ("total_tokens", s.total_tokens.to_string()),
                ("next_turn", s.next_turn.to_string()),
                ("next_step", s.next_step.to_string()),
                ("last_active", s.last_active.to_string()),
            ]
        };
        for ((field, is), (_, should)) in facts(&stored).into_iter().zip(facts(&right)) {
            if is != should {
                let message = format!("{field} is {is}, but its records make {should}");
                self.wrong(RecordKind::Session, &stored.id, message);
            }
        }
        (right != stored).then_some(right)
    }
}

//! Running a program against a store and the memory side by side.

use memkeep_core::{
    Batch, Cursor, Error, Json, Op, Outcome, Page, Prune, Receipt, Record, RecordKind,
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    answer::{self, Answer},
    command::{Command, Listing, Of, Program, Read, Step, scope},
    knowledge::as_slot,
    memory::{Memory, Refused},
    reads::Place,
};
use crate::{Case, Failure, Handle, Verdict, failure::must_equal, one_op::one_op};

/// Does what is commanded, and compares what is read and no more.
pub(crate) async fn follow(
    case: &mut Case,
    commands: impl IntoIterator<Item = Command>,
) -> Verdict {
    let mut player = Player::new(None);
    for command in commands {
        player.step(case, &Step { second: false, command }).await?;
    }
    Ok(())
}

/// Runs all of a program, then compares everything. A failure comes with the program as far as it was
/// run, without the ops that named nothing.
pub(super) async fn play(case: &mut Case, program: &Program) -> Result<(), (Failure, Program)> {
    let mut done = Program::default();
    play_into(case, program, &mut done).await.map_err(|failure| (failure, done))
}

async fn play_into(case: &mut Case, program: &Program, done: &mut Program) -> Verdict {
    let second = if program.steps.iter().any(|step| step.second) {
        Some(case.second_handle("other").await?)
    } else {
        None
    };
    let mut player = Player::new(second);
    let verdict = player.all(case, program, done).await;
    if let Some(second) = player.second {
        let closed = second.backend.close().await;
        verdict?;
        closed?;
        return Ok(());
    }
    verdict
}

struct Player {
    second: Option<Handle>,
    memory: Memory,
    /// Every record that a commit answered with.
    seen: Vec<Record>,
    begun: Option<Begun>,
}

/// A listing that goes on.
struct Begun {
    listing: Listing,
    cursor: Cursor,
    last: Place,
}

impl Player {
    fn new(second: Option<Handle>) -> Self {
        Self { second, memory: Memory::default(), seen: Vec::new(), begun: None }
    }

    async fn all(&mut self, case: &mut Case, program: &Program, done: &mut Program) -> Verdict {
        for Step { second, command } in &program.steps {
            if let Some(command) = self.that_names_something(command)? {
                let step = Step { second: *second, command };
                done.steps.push(step.clone());
                self.step(case, &step).await?;
            }
        }
        self.compare(case, &case.handle()).await?;
        if let Some(second) = self.second.clone() {
            self.compare(case, &second).await?;
        }
        Ok(())
    }

    async fn step(&mut self, case: &mut Case, step: &Step) -> Verdict {
        let second = self.second.clone().filter(|_| step.second);
        let handle = second.unwrap_or_else(|| case.handle());
        match &step.command {
            Command::Commit(batch) => {
                let batch: Batch = self.named(batch)?;
                self.commit(case, &handle, &batch).await
            }
            Command::One(op) => {
                let op: Op = self.named(op)?;
                let told = one_op(&handle, op.clone()).await;
                let told = told.map(|outcome| Receipt { at: case.now(), outcomes: vec![outcome] });
                self.committed(case, &op.into(), told)
            }
            Command::RestoreSeen(picks) => {
                let pick = |pick: &usize| {
                    let at = pick.checked_rem(self.seen.len())?;
                    self.seen.get(at).cloned()
                };
                let batch: Batch = picks.iter().filter_map(pick).collect();
                self.commit(case, &handle, &batch).await
            }
            Command::Clock(micros) => {
                case.set_clock(Case::at(*micros));
                Ok(())
            }
            Command::Read(read) => self.read(case, &handle, &self.named(read)?).await,
            Command::Begin(listing) => {
                let listing: Listing = self.named(listing)?;
                let page = answer::page(&handle, &listing, None).await;
                self.page(case, listing, None, page)
            }
            Command::Continue => {
                let Some(Begun { listing, cursor, last }) = self.begun.take() else {
                    return Ok(());
                };
                let page = answer::page(&handle, &listing, Some(cursor)).await;
                self.page(case, listing, Some(&last), page)
            }
            Command::Prune { before, scope: seen } => {
                let before = Case::at(*before);
                let expected = self.memory.prune(before, seen.as_ref(), case.now());
                let prune = Prune::new(before).scope(scope(seen.as_ref()));
                must_equal!(handle.backend.prune(&prune).await?, expected, "what was pruned");
                Ok(())
            }
            Command::Compare => self.compare(case, &handle).await,
            Command::Reopen => case.reopen().await,
        }
    }

    /// The command without ops that still have a `#3`, because there is no record of the kind: they
    /// would only be refused.
    fn that_names_something(&self, command: &Command) -> Result<Option<Command>, Failure> {
        Ok(Some(match command {
            Command::Commit(batch) => {
                let named: Batch = self.named(batch)?;
                let mut named = named.ops.iter();
                let mut batch = batch.clone();
                batch.ops.retain(|_| !named.next().is_some_and(names_nothing));
                Command::Commit(batch)
            }
            Command::One(op) if names_nothing(&self.named(op)?) => return Ok(None),
            other => other.clone(),
        }))
    }

    async fn commit(&mut self, case: &Case, handle: &Handle, batch: &Batch) -> Verdict {
        let told = handle.backend.commit(batch.clone()).await;
        self.committed(case, batch, told)
    }

    fn committed(
        &mut self,
        case: &Case,
        batch: &Batch,
        told: memkeep_core::Result<Receipt>,
    ) -> Verdict {
        let expected = self.memory.commit(batch, case.now(), told.as_ref().ok());
        let same = match (&expected, &told) {
            (Ok(expected), Ok(receipt)) => return self.receipt(expected, receipt),
            (Err(refused), Err(error)) => *refused == refusal_of(error),
            _ => false,
        };
        if same {
            return Ok(());
        }
        let expected = expected.map(|receipt| receipt.outcomes);
        let what = "what the commit comes to";
        Err(Failure::values(what, &expected, &told.map(|receipt| receipt.outcomes)))
    }

    fn receipt(&mut self, expected: &Receipt, told: &Receipt) -> Verdict {
        must_equal!(told.at, expected.at, "the receipt's time");
        must_equal!(told.outcomes.len(), expected.outcomes.len(), "the number of outcomes");
        for (op, (told, expected)) in told.outcomes.iter().zip(&expected.outcomes).enumerate() {
            must_equal!(told, expected, "the outcome of op {op}");
            self.seen.extend(record_of(told.clone()));
        }
        Ok(())
    }

    async fn read(&self, case: &Case, handle: &Handle, read: &Read) -> Verdict {
        let told = answer::answer(handle, read).await?;
        match self.memory.answer(read, case.now()).differs(&told) {
            Some(Failure { expected, actual }) => {
                Err(Failure::new(format!("{read:?}: {expected}"), actual))
            }
            None => Ok(()),
        }
    }

    fn page(
        &mut self,
        case: &Case,
        listing: Listing,
        last: Option<&Place>,
        told: Result<Page<Record>, Error>,
    ) -> Verdict {
        let all = self.memory.list(&listing, case.now());
        let (mut rows, page) = match (all, told) {
            (Ok(rows), Ok(page)) => (rows, page),
            (expected, told) => {
                let (expected, told) = (expected.err(), told.err().map(|error| error.kind()));
                must_equal!(told, expected, "the refusal of {listing:?}");
                return Ok(());
            }
        };
        answer::well_formed(&page, listing.limit)?;
        rows.retain(|(place, _)| last.is_none_or(|last| place > last));
        let more = rows.len() > listing.limit;
        rows.truncate(listing.limit);
        let end = rows.last().map(|(place, _)| place.clone());
        let expected = rows.into_iter().map(|(_, record)| record).collect();
        let told = Answer::Records(page.items);
        if let Some(Failure { expected, actual }) = Answer::Records(expected).differs(&told) {
            return Err(Failure::new(format!("a page of {listing:?}: {expected}"), actual));
        }
        // A page of nothing says nothing about what follows.
        let Some(last) = end else { return Ok(()) };
        must_equal!(page.next.is_some(), more, "whether {listing:?} goes on");
        self.begun = page.next.map(|cursor| Begun { listing, cursor, last });
        Ok(())
    }

    async fn compare(&self, case: &Case, handle: &Handle) -> Verdict {
        for read in self.everything(&handle.backend.info().kinds) {
            self.read(case, handle, &read).await?;
        }
        case.verify().await
    }

    /// Reads that show all there is.
    fn everything(&self, kinds: &[RecordKind]) -> Vec<Read> {
        let mut listings: Vec<Of> = kinds.iter().copied().map(Of::Scan).collect();
        for kind in kinds {
            match kind {
                RecordKind::Session => listings.extend([
                    Of::Sessions { by_activity: false },
                    Of::Sessions { by_activity: true },
                ]),
                RecordKind::Episode => listings.push(Of::Episodes { open: None }),
                RecordKind::Note => listings.push(Of::Notes),
                RecordKind::State => listings.push(Of::States { prefix: String::new() }),
                RecordKind::Audit => listings.push(Of::Audit),
                RecordKind::Turn | RecordKind::Step => {}
            }
        }
        for record in self.memory.records(RecordKind::Session) {
            let session = || record.id().to_owned();
            listings.push(Of::Turns { session: session(), newest_first: false });
            listings.push(Of::Steps { session: session() });
        }
        let all = |of| Read::All(Listing { of, scope: None, limit: usize::MAX });
        let by_id =
            kinds.iter().filter(|kind| !matches!(kind, RecordKind::State | RecordKind::Audit));
        let by_id = by_id.flat_map(|kind| self.memory.records(*kind)).map(|record| Read::ById {
            kind: record.kind(),
            scope: Some(record.workspace().clone()),
            id: record.id().to_owned(),
        });
        listings.into_iter().map(all).chain(by_id).chain([Read::Workspaces]).collect()
    }

    /// The same with each `#3` turned into the id it stands for.
    fn named<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<T, Failure> {
        let not_json = |e: serde_json::Error| Failure::new("a program of the suite", e.to_string());
        let mut json = serde_json::to_value(value).map_err(not_json)?;
        self.name(&mut json);
        serde_json::from_value(json).map_err(not_json)
    }

    fn name(&self, json: &mut Json) {
        let map = match json {
            Json::Array(items) => return items.iter_mut().for_each(|item| self.name(item)),
            Json::Object(map) => map,
            _ => return,
        };
        let kind = map.get("kind").cloned();
        let kind = kind.and_then(|kind| serde_json::from_value::<RecordKind>(kind).ok());
        for (field, value) in map {
            let kind = match field.as_str() {
                "session" => Some(RecordKind::Session),
                "turn" => Some(RecordKind::Turn),
                "episode" | "source" | "sources" => Some(RecordKind::Episode),
                "note" => Some(RecordKind::Note),
                "id" => kind,
                _ => None,
            };
            match (kind, value) {
                (Some(kind), Json::String(id)) => self.name_id(kind, id),
                (Some(kind), Json::Array(ids)) => {
                    for id in ids {
                        if let Json::String(id) = id {
                            self.name_id(kind, id);
                        }
                    }
                }
                (_, other) => self.name(other),
            }
        }
    }

    fn name_id(&self, kind: RecordKind, id: &mut String) {
        let records = self.memory.records(kind);
        let number = id.strip_prefix('#').and_then(|number| number.parse::<usize>().ok());
        let at = number.and_then(|number| number.checked_rem(records.len()));
        if let Some(record) = at.and_then(|at| records.get(at)) {
            record.id().clone_into(id);
        }
    }
}

/// Whether an op still has a `#3`.
fn names_nothing(op: &Op) -> bool {
    serde_json::to_string(op).is_ok_and(|json| json.contains("\"#"))
}

fn refusal_of(error: &Error) -> Refused {
    Refused { kind: error.kind(), op: error.get("op").and_then(|op| op.parse().ok()) }
}

fn record_of(outcome: Outcome) -> Option<Record> {
    Some(match outcome {
        Outcome::Session(r) => Record::Session(r),
        Outcome::Turn(r) => Record::Turn(r),
        Outcome::Step(r) => Record::Step(r),
        Outcome::Episode(r) => Record::Episode(r),
        Outcome::Note(r) => Record::Note(r),
        Outcome::State(r) => Record::State(as_slot(r)),
        Outcome::Audit(r) => Record::Audit(r),
        Outcome::Restored { record, .. } => record,
        Outcome::Deleted(_) | Outcome::Gone => return None,
    })
}

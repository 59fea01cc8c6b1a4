use memkeep_core::{
    Cursor, DeleteState, EpisodeId, EpisodeRevision, ListAudit, ListEpisodes, ListNotes,
    ListSessions, ListStates, ListSteps, ListTurns, NewAudit, NewEpisode, NewNote, NewSession,
    NewStep, NewTurn, NoteId, Op, Page, PutState, Record, RecordKind, Scan, Scope, SessionId,
    SessionOrder, TurnId,
};
use serde_json::json;

use crate::{Case, Failure};

/// The listings that come in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listing {
    Sessions(SessionOrder),
    Turns { newest_first: bool },
    Steps,
    Episodes { only_open: bool },
    Notes,
    States,
    Audit,
    Scan(RecordKind),
}

/// A row as the suite knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) workspace: &'static str,
    /// Its place in the listing: rows come in ascending order of it.
    pub(super) place: (i64, i64),
}

/// The workspaces that rows are in; the first is to be told from an absent one.
const WORKSPACES: [&str; 2] = ["", "b"];

/// The sessions that turns and steps are in. The listings are those of the first.
const SESSIONS: [(&str, &str); 2] = [("s", WORKSPACES[0]), ("other", WORKSPACES[1])];

impl Listing {
    /// What has to be there before the first row.
    pub(super) async fn prepare(self, case: &Case) -> Result<(), Failure> {
        if matches!(
            self,
            Self::Turns { .. } | Self::Steps | Self::Scan(RecordKind::Turn | RecordKind::Step)
        ) {
            for (id, workspace) in SESSIONS {
                let new = NewSession::new().id(id).workspace(workspace);
                case.sessions()?.start_session(new).await?;
                case.sessions()?.record_turn(NewTurn::new(id, "user", "first").id(id)).await?;
                case.sessions()?.record_step(NewStep::new(id, "first", "ok").id(id)).await?;
            }
        }
        Ok(())
    }

    /// What [`Self::prepare`] has put into the listing.
    pub(super) fn prepared(self) -> Vec<Row> {
        let first = |n: usize, place| {
            let (id, workspace) = SESSIONS[n];
            Row { id: id.to_owned(), workspace, place: (place, 0) }
        };
        match self {
            Self::Turns { .. } | Self::Steps => vec![first(0, 0)],
            Self::Scan(RecordKind::Turn | RecordKind::Step) => vec![first(0, -2), first(1, -1)],
            _ => Vec::new(),
        }
    }

    /// Adds the `n`-th row (counted from 1), at the time `time`. Every third is in the second workspace.
    pub(super) async fn insert(self, case: &Case, n: i64, time: i64) -> Result<Row, Failure> {
        // Rows at one time are inserted in an order that is not that of their ids.
        let mut id = format!("r{:02}-{n:02}", (n * 7) % 20);
        let second = i64::from(n % 3 == 0);
        let mut workspace = if second == 1 { WORKSPACES[1] } else { WORKSPACES[0] };
        let at = Case::at(time);
        let backend = case.backend();
        let place = match self {
            Self::Sessions(order) => {
                let new = NewSession::new().id(&id[..]).workspace(workspace);
                match order {
                    SessionOrder::Started => {
                        let op = Op::StartSession(new.started_at(at));
                        backend.commit_one(op).await?;
                    }
                    SessionOrder::Active => {
                        let new = new.started_at(at.min(Case::at(-1_000_000)));
                        let turn = NewTurn::new(&id[..], "user", "text").created_at(at);
                        backend
                            .commit([Op::StartSession(new), turn.into()].into_iter().collect())
                            .await?;
                    }
                }
                (-time, n)
            }
            Self::Turns { newest_first } => {
                let turn = NewTurn::new("s", "user", "text").id(&id[..]).created_at(at);
                backend.commit_one(turn.into()).await?;
                workspace = WORKSPACES[0];
                (if newest_first { -n } else { n }, 0)
            }
            Self::Steps | Self::Scan(RecordKind::Step) => {
                let step = NewStep::new("s", "look", "ok").id(&id[..]).created_at(at);
                backend.commit_one(step.into()).await?;
                workspace = WORKSPACES[0];
                (n, 0)
            }
            Self::Scan(RecordKind::Turn) => {
                let session = if second == 1 { SESSIONS[1].0 } else { SESSIONS[0].0 };
                let turn = NewTurn::new(session, "user", "text").id(&id[..]).created_at(at);
                backend.commit_one(turn.into()).await?;
                (n, 0)
            }
            Self::Scan(RecordKind::Session) => {
                let new = NewSession::new().id(&id[..]).workspace(workspace).started_at(at);
                backend.commit_one(Op::StartSession(new)).await?;
                (n, 0)
            }
            Self::Episodes { .. } | Self::Scan(RecordKind::Episode) => {
                let new = NewEpisode::new("problem", "").id(&id[..]).workspace(workspace);
                backend.commit_one(new.created_at(at).into()).await?;
                if matches!(self, Self::Episodes { only_open: true }) {
                    let closed = NewEpisode::new("closed", "").workspace(workspace).open(false);
                    backend.commit_one(closed.created_at(at).into()).await?;
                }
                if self == Self::Scan(RecordKind::Episode) { (n, 0) } else { (time, n) }
            }
            Self::Notes | Self::Scan(RecordKind::Note) => {
                let new = NewNote::new("lesson").id(&id[..]).workspace(workspace).created_at(at);
                backend.commit_one(new.into()).await?;
                if self == Self::Notes { (time, n) } else { (n, 0) }
            }
            Self::States | Self::Scan(RecordKind::State) => {
                id = format!("{:04}-{n:02}", time + 1_000);
                let put = PutState::new(&id[..], json!(n)).workspace(workspace);
                backend.commit_one(put.into()).await?;
                id = format!("{workspace}/{id}");
                let by_key = time * 100 + n;
                if self == Self::States { (second, by_key) } else { (n, 0) }
            }
            Self::Audit | Self::Scan(RecordKind::Audit) => {
                let new = NewAudit::new("act", "allow").id(&id[..]).created_at(at);
                backend.commit_one(new.workspace(workspace).into()).await?;
                if self == Self::Audit { (second, n) } else { (n, 0) }
            }
        };
        Ok(Row { id, workspace, place })
    }

    /// Deletes a row; whether it leaves the listing by that. Steps and audit records cannot be deleted.
    pub(super) async fn delete(self, case: &Case, row: &Row) -> Result<bool, Failure> {
        let id = &row.id[..];
        let op = match self {
            Self::Sessions(_) | Self::Scan(RecordKind::Session) => {
                Op::DeleteSession { session: SessionId::from(id), ended_before: None }
            }
            Self::Turns { .. } | Self::Scan(RecordKind::Turn) => {
                Op::DeleteTurn { turn: TurnId::from(id) }
            }
            Self::Episodes { .. } | Self::Scan(RecordKind::Episode) => {
                Op::DeleteEpisode { episode: EpisodeId::from(id), closed_before: None }
            }
            Self::Notes | Self::Scan(RecordKind::Note) => Op::DeleteNote { note: NoteId::from(id) },
            Self::States | Self::Scan(RecordKind::State) => {
                let (workspace, key) = id.split_once('/').unwrap_or_default();
                DeleteState::new(key).workspace(workspace).into()
            }
            Self::Steps | Self::Audit | Self::Scan(RecordKind::Step | RecordKind::Audit) => {
                return Ok(false);
            }
        };
        case.backend().commit_one(op).await?;
        // The slot of a deleted entry keeps its version.
        Ok(self != Self::Scan(RecordKind::State))
    }

    /// Changes a row; the place that it has then. Only activity moves one.
    pub(super) async fn change(self, case: &Case, row: &Row) -> Result<(i64, i64), Failure> {
        let id = &row.id[..];
        let mut place = row.place;
        let op = match self {
            Self::Sessions(SessionOrder::Active) => {
                const LATER: i64 = 1_000;
                place.0 = -LATER;
                NewTurn::new(id, "user", "again").created_at(Case::at(LATER)).into()
            }
            Self::Sessions(SessionOrder::Started) | Self::Scan(RecordKind::Session) => {
                Op::SetSummary { session: SessionId::from(id), summary: Some("done".to_owned()) }
            }
            Self::Turns { .. } | Self::Scan(RecordKind::Turn) => {
                Op::TagTurn { turn: TurnId::from(id), name: "changed".to_owned(), value: None }
            }
            Self::Episodes { .. } | Self::Scan(RecordKind::Episode) => {
                EpisodeRevision::new(id).summary("changed").into()
            }
            Self::States | Self::Scan(RecordKind::State) => {
                let (workspace, key) = id.split_once('/').unwrap_or_default();
                PutState::new(key, json!("changed")).workspace(workspace).into()
            }
            // Never changed: notes, steps, audit records.
            _ => return Ok(place),
        };
        case.backend().commit_one(op).await?;
        Ok(place)
    }

    /// The ids of a page.
    pub(super) async fn page(
        self,
        case: &Case,
        scope: &Scope,
        limit: usize,
        after: Option<Cursor>,
    ) -> Result<Page<String>, Failure> {
        macro_rules! page {
            ($store:expr, $method:ident($list:expr)) => {{
                let mut list = $list.limit(limit).scope(scope.clone());
                list.after = after;
                $store.$method(&list).await?
            }};
        }
        Ok(match self {
            Self::Sessions(order) => {
                page!(case.sessions()?, sessions(ListSessions::new().order(order)))
                    .map(|r| r.id.into())
            }
            Self::Turns { newest_first } => {
                let list = ListTurns::new("s").newest_first(newest_first);
                page!(case.sessions()?, turns(list)).map(|r| r.id.into())
            }
            Self::Steps => page!(case.sessions()?, steps(ListSteps::new("s"))).map(|r| r.id.into()),
            Self::Episodes { only_open } => {
                let list = ListEpisodes::new().open(only_open.then_some(true));
                page!(case.episodic()?, episodes(list)).map(|r| r.id.into())
            }
            Self::Notes => page!(case.reflective()?, notes(ListNotes::new())).map(|r| r.id.into()),
            Self::States => page!(case.reflective()?, states(ListStates::new()))
                .map(|r| format!("{}/{}", r.workspace, r.key)),
            Self::Audit => {
                page!(case.reflective()?, audit_log(ListAudit::new())).map(|r| r.id.into())
            }
            Self::Scan(kind) => page!(case.backend(), scan(Scan::new(kind))).map(|r| match &r {
                Record::State(slot) => format!("{}/{}", slot.workspace, slot.key),
                record => record.id().to_owned(),
            }),
        })
    }
}

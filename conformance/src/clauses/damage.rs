//! What is stored is not what it must be: the record is named, the others stay readable, and verify
//! tells of it.

use memkeep_core::{
    ErrorKind, FindTurns, ListAudit, ListEpisodes, ListNotes, ListSessions, ListStates, ListSteps,
    ListTurns, NewAudit, NewSession, NewStep, NewTurn, RecallQuery, Record, RecordKind, Result,
    Scan, Scope, Session, SessionOrder,
    verify::{Problem, Verify, VerifyReport},
};

use super::{
    bundle::{all_records, bundle, bundle_in, kinds, read, read_one},
    restore::{furnish, goes_on},
};
use crate::{
    Case, Damage, Failure, Handle, Verdict,
    failure::{must, must_equal, must_refuse},
};

/// What a call gave: what it is called, and the ids of the records.
type Answer = (&'static str, Result<Vec<String>>);

/// `read!(answers, store.sessions.turns(query), |page| page.items, id)` adds what a read gives.
macro_rules! read {
    ($answers:ident, $store:ident.$part:ident.$read:ident($query:expr), $rows:expr, $($id:tt)+) => {
        if let Some(part) = &$store.$part {
            let rows = part.$read(&$query).await.map($rows);
            let ids = rows.map(|rows| rows.iter().map(|row| row.$($id)+.to_string()).collect());
            $answers.push((stringify!($read), ids));
        }
    };
}

/// What listings give of the records of a kind, those of the session `id` if they are of a session.
async fn listed(store: &Handle, kind: RecordKind, scope: &Scope, id: &str) -> Vec<Answer> {
    let mut answers = Vec::new();
    macro_rules! list {
        ($part:ident.$read:ident($query:expr), $id:ident) => {
            read!(answers, store.$part.$read($query.scope(scope.clone())), |page| page.items, $id)
        };
    }
    match kind {
        RecordKind::Session => {
            list!(sessions.sessions(ListSessions::new().order(SessionOrder::Started)), id);
            list!(sessions.sessions(ListSessions::new().order(SessionOrder::Active)), id);
        }
        RecordKind::Turn => {
            list!(sessions.turns(ListTurns::new(id)), id);
            list!(sessions.turns(ListTurns::new(id).newest_first(true)), id);
        }
        RecordKind::Step => list!(sessions.steps(ListSteps::new(id)), id),
        RecordKind::Episode => {
            list!(episodic.episodes(ListEpisodes::new()), id);
            list!(episodic.episodes(ListEpisodes::new().open(Some(true))), id);
        }
        RecordKind::Note => list!(reflective.notes(ListNotes::new()), id),
        RecordKind::State => list!(reflective.states(ListStates::new()), key),
        RecordKind::Audit => list!(reflective.audit_log(ListAudit::new()), id),
    }
    answers
}

/// What a scan gives.
async fn scanned(store: &Handle, kind: RecordKind, scope: &Scope) -> Answer {
    let page = store.backend.scan(&Scan::new(kind).scope(scope.clone())).await;
    ("scan", page.map(|page| page.items.iter().map(|record| record.id().to_owned()).collect()))
}

/// What is found and recalled of the records of a kind by a word that all of them have.
async fn found(store: &Handle, kind: RecordKind, scope: &Scope) -> Vec<Answer> {
    let mut answers = Vec::new();
    let find = || FindTurns::new(WORD).scope(scope.clone());
    let query = || RecallQuery::new(WORD).scope(scope.clone()).k(100_usize);
    match kind {
        RecordKind::Turn => {
            read!(answers, store.sessions.find_turns(find()), |turns| turns, id);
            read!(answers, store.sessions.recall_turns(query()), |hits| hits, record.id);
        }
        RecordKind::Episode => {
            read!(answers, store.episodic.recall(query()), |hits| hits, record.id);
        }
        RecordKind::Note => {
            read!(answers, store.reflective.recall_notes(query()), |hits| hits, record.id);
        }
        _ => {}
    }
    answers
}

/// A word of every id of a bundle, and so of every text in it.
const WORD: &str = "bundle";
/// The workspace of bundles in which nothing is hurt, but for the sound one of the default workspace.
const BESIDE: &str = "beside";

/// The id of the bundle whose record of this kind is hurt.
fn hurt_id(kind: RecordKind) -> String {
    format!("bundle hurt in {}", kind.as_str())
}

/// Ids of sound bundles, with their workspaces.
const SOUND: [(&str, &str); 2] = [("bundle", "default"), ("another bundle", BESIDE)];

/// A store with one record of each kind that cannot be decoded, those records, and the sound bundles'
/// records. None if such a store is refused when it is opened.
async fn hurt(case: &mut Case) -> Result<Option<(Vec<Record>, Vec<Record>)>, Failure> {
    let store = case.handle();
    for kind in kinds(&store) {
        store.backend.commit(bundle(&store, &hurt_id(kind))).await?;
    }
    for (id, workspace) in SOUND {
        store.backend.commit(bundle_in(&store, id, workspace)).await?;
    }
    let records = all_records(&store).await?;
    let mut hurt = records.clone();
    hurt.retain(|record| record.id() == hurt_id(record.kind()));
    let mut sound = records;
    sound.retain(|record| SOUND.iter().any(|(id, _)| record.id() == *id));
    let damages: Vec<Damage> = hurt.iter().cloned().map(Damage::Undecodable).collect();
    Ok(case.damage(&damages).await?.then_some((hurt, sound)))
}

pub(crate) async fn by_id(case: &mut Case) -> Verdict {
    let Some((hurt, _)) = hurt(case).await? else { return Ok(()) };
    let store = case.handle();
    for record in hurt.iter().filter(|record| record.kind() != RecordKind::Audit) {
        let (kind, id) = (record.kind(), record.id());
        let read = read_one(&store, kind, record.workspace(), id).await;
        let error = must_refuse!(read, Corrupt, "the {} {id}", kind.as_str());
        must_equal!(error.get("row"), Some(id), "the error's `row`");
    }
    Ok(())
}

/// Each answer must be `Corrupt`.
fn refused(answers: Vec<Answer>) -> Verdict {
    for (what, answer) in answers {
        must_refuse!(answer, Corrupt, "{what} that meets a record which cannot be decoded");
    }
    Ok(())
}

/// Everything there is, and the workspace with the hurt records.
fn scopes() -> [Scope; 2] {
    [Scope::All, Scope::from("default")]
}

pub(crate) async fn in_listings(case: &mut Case) -> Verdict {
    let Some((hurt, _)) = hurt(case).await? else { return Ok(()) };
    for record in &hurt {
        for scope in scopes() {
            refused(listed(&case.handle(), record.kind(), &scope, record.id()).await)?;
        }
    }
    Ok(())
}

pub(crate) async fn in_scans(case: &mut Case) -> Verdict {
    let Some((hurt, _)) = hurt(case).await? else { return Ok(()) };
    for record in &hurt {
        for scope in scopes() {
            refused(vec![scanned(&case.handle(), record.kind(), &scope).await])?;
        }
    }
    Ok(())
}

pub(crate) async fn in_what_is_found(case: &mut Case) -> Verdict {
    let Some((hurt, _)) = hurt(case).await? else { return Ok(()) };
    for record in &hurt {
        for scope in scopes() {
            refused(found(&case.handle(), record.kind(), &scope).await)?;
        }
    }
    Ok(())
}

/// The sound records can be read: by id, and where no other is met.
async fn readable(store: &Handle, sound: &[Record]) -> Verdict {
    for record in sound {
        let (kind, id) = (record.kind(), record.id());
        if kind != RecordKind::Audit {
            let read = read_one(store, kind, record.workspace(), id).await?;
            must_equal!(read.is_some(), true, "whether the {} {id} is there", kind.as_str());
        }
        let scope = Scope::from(record.workspace().clone());
        let of_session = matches!(kind, RecordKind::Turn | RecordKind::Step);
        let mut answers = Vec::new();
        if of_session || record.workspace().as_str() == BESIDE {
            answers.extend(listed(store, kind, &scope, id).await);
        }
        if record.workspace().as_str() == BESIDE {
            answers.push(scanned(store, kind, &scope).await);
            answers.extend(found(store, kind, &scope).await);
        }
        for (what, answer) in answers {
            must_equal!(answer?, [id], "the ids that {what} gives beside hurt records");
        }
    }
    Ok(())
}

pub(crate) async fn beside(case: &mut Case) -> Verdict {
    let Some((_, sound)) = hurt(case).await? else { return Ok(()) };
    readable(&case.handle(), &sound).await
}

pub(crate) async fn in_commits(case: &mut Case) -> Verdict {
    let Some((hurt, _)) = hurt(case).await? else { return Ok(()) };
    let store = case.handle();
    for (record, at) in hurt.iter().zip(0..) {
        let extra = format!("extra {at}");
        // A new record under the id of one that cannot be read.
        let mut ops = bundle(&store, record.id()).ops;
        let batch = bundle(&store, &extra).with(ops.swap_remove(at));
        must_refuse!(
            store.backend.commit(batch).await,
            Corrupt,
            "a batch that needs the {} {}",
            record.kind().as_str(),
            record.id()
        );
        must_equal!(read(&store, &extra).await?, [], "what is stored of the refused batch");
        store.backend.commit(bundle(&store, &extra)).await?;
        let there = read(&store, &extra).await?.len();
        must_equal!(there, by_ids(&store), "how much is stored of the batch without it");
    }
    Ok(())
}

/// How many kinds are read by id.
fn by_ids(store: &Handle) -> usize {
    kinds(store).iter().filter(|kind| **kind != RecordKind::Audit).count()
}

async fn verify(case: &Case) -> Result<VerifyReport, Failure> {
    Ok(case.backend().verify(&Verify::new()).await?)
}

/// Verifies and repairs; none if the backend has no repair.
async fn repair(case: &Case) -> Result<Option<VerifyReport>, Failure> {
    match case.backend().verify(&Verify::new().repair(true)).await {
        Ok(report) => Ok(Some(report)),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Each hurt record's kind is told of, as something that is not repaired.
fn told(report: &VerifyReport, hurt: &[Record]) -> Verdict {
    for record in hurt {
        let of_kind = |problem: &&Problem| problem.location.starts_with(record.kind().as_str());
        let told = report.problems.iter().find(of_kind);
        let what = format!("verify tells of the {} {}", record.kind().as_str(), record.id());
        match told {
            Some(problem) if !problem.repaired => {}
            Some(_) => return Err(Failure::new(what, "it says that it is repaired")),
            None => return Err(Failure::new(what, format!("{:?}", report.problems))),
        }
    }
    Ok(())
}

pub(crate) async fn verified(case: &mut Case) -> Verdict {
    let Some((hurt, _)) = hurt(case).await? else { return Ok(()) };
    told(&verify(case).await?, &hurt)
}

pub(crate) async fn verified_sound(case: &mut Case) -> Verdict {
    let store = case.handle();
    must_equal!(verify(case).await?, VerifyReport::default(), "the report of an empty store");
    furnish(&store).await?;
    let report = verify(case).await?;
    must_equal!(report.problems, [], "the problems of a sound store");
    let there = store.backend.stats(&Scope::All).await?.counts;
    must_equal!(report.checked, there, "how many records were looked at");
    Ok(())
}

/// Sessions with turns and steps, and each of their derived fields wrong in one of them. False if the
/// store is refused when it is opened.
async fn miscounted(case: &mut Case) -> Result<bool, Failure> {
    let store = case.sessions()?;
    for n in 0..=WRONG.len() {
        let start = NewSession::new().id(format!("s{n}")).started_at(Case::at(-1_000));
        store.start_session(start).await?;
        for index in 0..3 {
            let turn = NewTurn::new(format!("s{n}"), "user", "text").tokens(7);
            store.record_turn(turn.id(format!("s{n} {index}"))).await?;
            store.record_step(NewStep::new(format!("s{n}"), "step", "ok")).await?;
        }
        // Its index is not given again.
        store.delete_turn(&format!("s{n} 2").into()).await?;
    }
    let mut damages = Vec::new();
    for (n, (_, wrong)) in WRONG.iter().enumerate() {
        let session = store.session(&Scope::All, &format!("s{n}").into()).await?;
        let mut session = session.ok_or_else(|| Failure::new("the session", "none"))?;
        session.first_prompt = None;
        wrong(&mut session);
        damages.push(Damage::Altered(Record::Session(session)));
    }
    case.damage(&damages).await
}

type Change = fn(&mut Session);

/// Derived fields that can be told from turns and steps, and how they are made wrong. What only
/// exceeds them may come from turns that were deleted.
const WRONG: [(&str, Change); 6] = [
    ("turn_count", |session| session.turn_count = 7),
    ("step_count", |session| session.step_count = 7),
    ("total_tokens", |session| session.total_tokens = 7),
    ("next_turn", |session| session.next_turn = 1),
    ("next_step", |session| session.next_step = 0),
    ("last_active", |session| session.last_active = session.started_at),
];

pub(crate) async fn verified_counts(case: &mut Case) -> Verdict {
    if !miscounted(case).await? {
        return Ok(());
    }
    let report = verify(case).await?;
    for (n, (field, _)) in WRONG.iter().enumerate() {
        let told =
            report.problems.iter().any(|problem| problem.location == format!("session s{n}"));
        must!(told, report.problems, "verify names s{n}, whose {field} is wrong");
    }
    let sound = format!("session s{}", WRONG.len());
    let told = report.problems.iter().any(|problem| problem.location == sound);
    must!(!told, report.problems, "verify says nothing of a sound session");
    let repaired = report.problems.iter().any(|problem| problem.repaired);
    must!(!repaired, report.problems, "verify repairs nothing unasked");
    must_equal!(verify(case).await?, report, "what verify finds again");
    Ok(())
}

pub(crate) async fn verified_chains(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let mut records = Vec::new();
    for n in 1..=5 {
        for workspace in ["altered", "forged", "sound"] {
            let new = NewAudit::new("act", "deny").id(format!("{workspace} {n}"));
            records.push(store.append_audit(new.workspace(workspace)).await?);
        }
    }
    let first_forged = records.iter().find(|record| record.id.as_str() == "forged 1");
    let before = first_forged.map(|record| record.hash).unwrap_or_default();
    let mut damages = Vec::new();
    for mut record in records {
        if !["altered 2", "altered 4", "forged 2"].contains(&record.id.as_str()) {
            continue;
        }
        record.decision = "allow".into();
        if record.workspace.as_str() == "forged" {
            record.hash = record.expected_hash(&before);
        }
        damages.push(Damage::Altered(Record::Audit(record)));
    }
    if !case.damage(&damages).await? {
        return Ok(());
    }
    let problems = verify(case).await?.problems;
    let first = |chain: &str| {
        let of_chain = |problem: &&Problem| problem.location.starts_with(&format!("audit {chain}"));
        problems.iter().find(of_chain).map(|problem| problem.location.as_str())
    };
    must_equal!(first("altered"), Some("audit altered 2"), "the first broken record of a chain");
    // One whose hash was made to fit is told from an index, if there is one, else by the next.
    let forged = first("forged");
    let told = matches!(forged, Some("audit forged 2" | "audit forged 3"));
    must!(told, problems, "verify names the record that was forged or the next");
    must_equal!(first("sound"), None, "what verify says of a sound chain");
    Ok(())
}

pub(crate) async fn repaired_counts(case: &mut Case) -> Verdict {
    if !miscounted(case).await? {
        return Ok(());
    }
    let Some(report) = repair(case).await? else {
        let report = verify(case).await?;
        must!(!report.is_clean(), report, "what is not repaired is still told of");
        return Ok(());
    };
    must!(!report.problems.is_empty(), report, "a repair tells what was wrong");
    must!(report.is_clean(), report.problems, "all that is derived is repaired");
    must_equal!(verify(case).await?.problems, [], "what verify finds after a repair");
    let store = case.sessions()?;
    let mut sessions =
        store.sessions(&ListSessions::new().order(SessionOrder::Active)).await?.items;
    sessions.sort_by(|a, b| a.id.cmp(&b.id));
    let sound = sessions.last().cloned();
    let mut sound = sound.ok_or_else(|| Failure::new("sessions after a repair", "none"))?;
    must_equal!(sessions.len(), WRONG.len() + 1, "how many sessions are there");
    for session in sessions {
        sound.id = session.id.clone();
        // Where the next index was lost, that of the deleted turn is known to nobody any more.
        sound.next_turn = if session.id.as_str() == "s3" { 2 } else { 3 };
        must_equal!(session, sound, "the session as it was before the damage");
        let turns = store.turns(&ListTurns::new(&session.id)).await?.items;
        must_equal!(turns.len(), 2, "how many turns it has");
        let next = store.record_turn(NewTurn::new(&session.id, "user", "next")).await?;
        must_equal!(next.index, sound.next_turn, "the index of its next turn");
    }
    case.verify().await
}

pub(crate) async fn repaired_damage(case: &mut Case) -> Verdict {
    let Some((hurt, sound)) = hurt(case).await? else { return Ok(()) };
    if let Some(report) = repair(case).await? {
        told(&report, &hurt)?;
    }
    told(&verify(case).await?, &hurt)?;
    let store = case.handle();
    for record in hurt.iter().filter(|record| record.kind() != RecordKind::Audit) {
        let (kind, id) = (record.kind(), record.id());
        let read = read_one(&store, kind, record.workspace(), id).await;
        must_refuse!(read, Corrupt, "the {} {id}, after a repair", kind.as_str());
    }
    readable(&store, &sound).await
}

pub(crate) async fn repaired_sound(case: &mut Case) -> Verdict {
    let store = case.handle();
    furnish(&store).await?;
    let records = all_records(&store).await?;
    if let Some(report) = repair(case).await? {
        must_equal!(report.problems, [], "what a repair finds in a sound store");
    }
    must_equal!(all_records(&store).await?, records, "what is stored");
    goes_on(&store).await?;
    case.verify().await
}

//! Whatever is committed, every secondary key agrees with the records, and each listing is the
//! records of its kind in the listing's order, whatever the size of its pages.

use std::{cmp::Reverse, future::Future, sync::Arc};

use memkeep_core::{
    Backend, Batch, Cursor, DeleteState, EpisodicBackend, ErrorKind, FindTurns, ListAudit,
    ListEpisodes, ListNotes, ListSessions, ListStates, ListSteps, ListTurns, ManualClock, NewAudit,
    NewEpisode, NewNote, NewSession, NewStep, NewTurn, Op, Page, PutState, Record, RecordKind,
    ReflectiveStore, Result, Scan, Scope, Session, SessionOrder, SessionStore, Timestamp, Turn,
    bounds::MAX_NAME_BYTES, embedded::Embedded, verify::Verify,
};
use memkeep_kv::{KvEngine, MAX_KEY_BYTES};
use proptest::{prelude::*, sample::select};

mod support;
use support::{INDEX, Poke};

type Store = Embedded<KvEngine<Poke>>;

/// Names that are prefixes of each other, or hold what the layout escapes.
const NAMES: [&str; 8] = ["acme", "acme-corp", "acme\0", "acme\0\u{1}", "a", "\0", "\0\0", "ä"];
const WORKSPACES: [&str; 4] = ["acme", "acme-corp", "acme\0x", ""];

fn name() -> impl Strategy<Value = &'static str> {
    select(&NAMES[..])
}

fn workspace() -> impl Strategy<Value = &'static str> {
    select(&WORKSPACES[..])
}

fn time() -> impl Strategy<Value = Timestamp> {
    select(vec![Timestamp::MIN.as_micros(), -1, 0, 1, 256, Timestamp::MAX.as_micros()])
        .prop_map(|micros| Timestamp::from_micros(micros).unwrap())
}

fn op() -> impl Strategy<Value = Op> {
    let session = (name(), workspace(), time()).prop_map(|(id, workspace, at)| {
        Op::EnsureSession(NewSession::new().id(id).workspace(workspace).started_at(at))
    });
    let role = select(vec!["user", "assistant", "system"]);
    let turn = (name(), role, time(), 0_i64..9).prop_map(|(session, role, at, tokens)| {
        NewTurn::new(session, role, "said").created_at(at).tokens(tokens).into()
    });
    let named_turn = (name(), name()).prop_map(|(session, id)| {
        NewTurn::new(session, "user", "said").id(id).created_at(Timestamp::default()).into()
    });
    let step = (name(), time())
        .prop_map(|(session, at)| NewStep::new(session, "build", "ok").created_at(at).into());
    let episode = (name(), workspace(), time(), any::<bool>()).prop_map(|(id, w, at, open)| {
        NewEpisode::new(id, "").id(id).workspace(w).created_at(at).open(open).into()
    });
    let note = (workspace(), time())
        .prop_map(|(w, at)| NewNote::new("lesson").workspace(w).created_at(at).into());
    let state = (workspace(), name(), prop::option::of(time())).prop_map(|(w, key, expires_at)| {
        let mut put = PutState::new(key, key).workspace(w);
        put.expires_at = expires_at;
        put.into()
    });
    let audit = (workspace(), time())
        .prop_map(|(w, at)| NewAudit::new("run", "allow").workspace(w).created_at(at).into());
    let tag = |(turn, name): (&str, &str)| Op::TagTurn {
        turn: turn.into(),
        name: name.into(),
        value: None,
    };
    prop_oneof![
        4 => session,
        8 => turn,
        3 => named_turn,
        3 => step,
        4 => episode,
        3 => note,
        4 => state,
        3 => audit,
        1 => (name(), name()).prop_map(tag),
        1 => (name(), any::<bool>())
            .prop_map(|(id, open)| Op::SetEpisodeOpen { episode: id.into(), open }),
        1 => name().prop_map(|id| Op::DeleteTurn { turn: id.into() }),
        1 => name().prop_map(|id| Op::DeleteEpisode { episode: id.into(), closed_before: None }),
        1 => name().prop_map(|id| Op::DeleteSession { session: id.into(), ended_before: None }),
        1 => (workspace(), name()).prop_map(|(w, key)| DeleteState::new(key).workspace(w).into()),
        1 => workspace().prop_map(|w| Op::ForgetWorkspace { workspace: w.into() }),
    ]
}

/// All pages of a listing, one after the other; the last names no next.
async fn paged<T, F: Future<Output = Result<Page<T>>>>(
    limit: usize,
    page: impl Fn(usize, Option<Cursor>) -> F,
) -> Vec<T> {
    assert!(page(0, None).await.unwrap().items.is_empty());
    let (mut items, mut after) = (Vec::new(), None);
    loop {
        let got = page(limit, after).await.unwrap();
        assert!(got.items.len() == limit || (got.next.is_none() && got.items.len() < limit));
        items.extend(got.items);
        match got.next {
            // Cursors travel as text.
            Some(next) => after = Some(next.to_string().parse().unwrap()),
            None => return items,
        }
    }
}

/// The records of a kind in order of insertion.
async fn scanned<T>(
    store: &Store,
    kind: RecordKind,
    scope: &Scope,
    limit: usize,
    of: impl Fn(Record) -> Option<T>,
) -> Vec<T> {
    let records = paged(limit, |limit, after| async move {
        let scan = Scan::new(kind).scope(scope.clone()).limit(limit).after(after);
        store.scan(&scan).await
    })
    .await;
    records.into_iter().map(|record| of(record).unwrap()).collect()
}

macro_rules! scanned {
    ($kind:ident, $store:expr, $scope:expr, $limit:expr) => {
        scanned($store, RecordKind::$kind, $scope, $limit, |record| match record {
            Record::$kind(record) => Some(record),
            _ => None,
        })
        .await
    };
}

macro_rules! listed {
    ($store:ident.$method:ident, $list:expr, $limit:expr) => {
        paged($limit, |limit, after| async move {
            $store.$method(&$list.limit(limit).after(after)).await
        })
        .await
    };
}

async fn check(store: &Store, scope: &Scope, limit: usize, now: Timestamp) {
    let mut episodes = scanned!(Episode, store, scope, limit);
    episodes.sort_by_key(|episode| episode.created_at);
    assert_eq!(listed!(store.episodes, ListEpisodes::new().scope(scope.clone()), limit), episodes);
    for open in [true, false] {
        let list = || ListEpisodes::new().scope(scope.clone()).open(open);
        let wanted: Vec<_> = episodes.iter().filter(|e| e.open == open).cloned().collect();
        assert_eq!(listed!(store.episodes, list(), limit), wanted);
    }

    let mut notes = scanned!(Note, store, scope, limit);
    notes.sort_by_key(|note| note.created_at);
    assert_eq!(listed!(store.notes, ListNotes::new().scope(scope.clone()), limit), notes);

    let mut states = scanned!(State, store, scope, limit);
    states.sort_by_key(memkeep_core::StateSlot::state_key);
    for prefix in ["", "a", "acme\0"] {
        let list = || ListStates::new().scope(scope.clone()).prefix(prefix);
        let live = states.iter().filter(|slot| slot.key.starts_with(prefix));
        let wanted: Vec<_> = live.filter_map(|slot| slot.clone().live(now)).collect();
        assert_eq!(listed!(store.states, list(), limit), wanted);
    }

    let mut audit = scanned!(Audit, store, scope, limit);
    audit.sort_by_key(|record| (record.workspace.clone(), record.seq));
    assert_eq!(listed!(store.audit_log, ListAudit::new().scope(scope.clone()), limit), audit);

    let mut sessions = scanned!(Session, store, scope, limit);
    let mut turns = scanned!(Turn, store, scope, limit);
    let mut steps = scanned!(Step, store, scope, limit);
    let mut prompted: Vec<Session> = sessions.clone();
    turns.sort_by_key(|turn| turn.index);
    for session in &mut prompted {
        let of_session = |turn: &&Turn| turn.session == session.id;
        let first = turns.iter().filter(of_session).find(|turn| turn.role == "user");
        session.first_prompt = first.map(|turn| turn.content.clone());
    }
    prompted.sort_by_key(|session| Reverse(session.started_at));
    let list = || ListSessions::new().scope(scope.clone());
    assert_eq!(listed!(store.sessions, list(), limit), prompted);
    // Insertion decides among equals, so the order starts from it again.
    sessions.sort_by_key(|session| Reverse(session.last_active));
    let active: Vec<_> = listed!(store.sessions, list().order(SessionOrder::Active), limit);
    let ids = |sessions: &[Session]| sessions.iter().map(|s| s.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&active), ids(&sessions));

    steps.sort_by_key(|step| step.index);
    for id in NAMES {
        let known = sessions.iter().any(|session| session.id.as_str() == id);
        let list = || ListTurns::new(id).scope(scope.clone());
        if !known {
            let refused = store.turns(&list()).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::NotFound);
            let refused = store.steps(&ListSteps::new(id).scope(scope.clone())).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::NotFound);
            continue;
        }
        let mut wanted: Vec<_> =
            turns.iter().filter(|turn| turn.session.as_str() == id).cloned().collect();
        assert_eq!(listed!(store.turns, list(), limit), wanted);
        wanted.reverse();
        assert_eq!(listed!(store.turns, list().newest_first(true), limit), wanted);
        let wanted: Vec<_> =
            steps.iter().filter(|step| step.session.as_str() == id).cloned().collect();
        assert_eq!(listed!(store.steps, ListSteps::new(id).scope(scope.clone()), limit), wanted);
    }

    let mut newest = scanned!(Turn, store, scope, limit);
    newest.sort_by_key(|turn| Reverse(turn.created_at));
    let find = FindTurns::new("said").scope(scope.clone()).limit(usize::MAX);
    assert_eq!(store.find_turns(&find).await.unwrap(), newest);
}

async fn run(batches: Vec<Vec<Op>>, limit: usize) {
    let map = Poke::default();
    let now = Timestamp::from_micros(1).unwrap();
    let store = map.open(Arc::new(ManualClock::new(now))).await.unwrap();
    for (id, workspace) in NAMES.into_iter().zip(WORKSPACES.into_iter().cycle()).take(6) {
        store.start_session(NewSession::new().id(id).workspace(workspace)).await.unwrap();
    }
    for ops in batches {
        // Some are refused: then nothing of them may be stored.
        let _ = store.commit(ops.into_iter().collect::<Batch>()).await;
        let report = store.verify(&Verify::new()).await.unwrap();
        assert_eq!(report.problems, []);
        // The counts that are kept are those that are counted.
        assert_eq!(store.stats(&Scope::All).await.unwrap().counts, report.checked);
    }
    let scopes = WORKSPACES.map(Scope::from).into_iter().chain([Scope::All]);
    for scope in scopes {
        check(&store, &scope, limit, now).await;
    }
    for workspace in WORKSPACES {
        let op = Op::ForgetWorkspace { workspace: workspace.into() };
        store.commit(op.into()).await.unwrap();
    }
    // The schema version and the counters are all that is left.
    let left: Vec<_> = map.lasting().into_keys().filter(|key| key[0] > 0x02).collect();
    assert_eq!(left, Vec::<Vec<u8>>::new());
    // Compacted, so are the indexes, but for what they cover. This engine has nothing more to do.
    assert_eq!(store.compact().await.unwrap_err().kind(), ErrorKind::Unsupported);
    let is_index = |key: &&Vec<u8>| key[0] == INDEX;
    let indexes: Vec<_> =
        map.pairs().keys().filter(is_index).map(|key| key[2..].to_vec()).collect();
    assert!(indexes.iter().all(|key| *key == [3]), "{indexes:?}");
}

#[tokio::test]
async fn the_longest_names_make_keys_within_the_bound() {
    let map = Poke::default();
    let store = map.open(Arc::new(ManualClock::new(Timestamp::default()))).await.unwrap();
    let longest = "\0".repeat(MAX_NAME_BYTES);
    let session = NewSession::new().id(&*longest).workspace(&*longest);
    let batch = Batch::from(Op::StartSession(session))
        .with(NewTurn::new(&*longest, "user", "said").id(&*longest))
        .with(NewAudit::new("run", "allow").workspace(&*longest).id(&*longest))
        .with(PutState::new(&*longest, 1).workspace(&*longest))
        .key(&*longest);
    store.commit(batch).await.unwrap();
    assert_eq!(map.pairs().keys().map(Vec::len).max(), Some(MAX_KEY_BYTES));
    check(&store, &Scope::from(&*longest), 1, Timestamp::default()).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_batches_keep_every_listing_right(
        batches in prop::collection::vec(prop::collection::vec(op(), 1..5), 1..32),
        limit in prop_oneof![1_usize..4, Just(usize::MAX)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(batches, limit));
    }
}

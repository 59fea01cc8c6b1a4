//! The audit log: one chain of hashes for each workspace.

use std::sync::Arc;

use memkeep_core::{
    AuditHead, AuditRecord, Batch, Hash, Json, ListAudit, NewAudit, Op, RecordKind,
    ReflectiveStore, Scan, Scope, Workspace,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    Case, Failure, Verdict,
    clauses::support::in_pages,
    failure::{must, must_equal},
};

fn new(workspace: &str, action: &str) -> NewAudit {
    NewAudit::new(action, "allow").workspace(workspace)
}

async fn log(case: &Case, workspace: &str) -> Result<Vec<AuditRecord>, Failure> {
    Ok(case.reflective()?.audit_log(&ListAudit::new().scope(workspace)).await?.items)
}

/// The chain of a workspace has this many records, each linked to the one before.
async fn chain_holds(case: &Case, workspace: &str, length: u64) -> Verdict {
    let mut hash = Hash::default();
    let mut seqs = Vec::new();
    for record in log(case, workspace).await? {
        must_equal!(record.hash, record.expected_hash(&hash), "the hash of {record:?}");
        hash = record.hash;
        seqs.push(record.seq);
    }
    must_equal!(seqs, (1..=length).collect::<Vec<_>>(), "the numbers of the chain");
    let head = case.reflective()?.audit_head(&workspace.into()).await?;
    let right = AuditHead { workspace: workspace.into(), seq: length, hash };
    must_equal!(head, right, "the head of the chain");
    case.verify().await
}

pub(crate) async fn append(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let first = store.append_audit(NewAudit::new("act", "allow")).await?;
    must!(first.id.as_str().starts_with("aud-"), first.id, "a generated id starts with aud-");
    let mut right = AuditRecord {
        id: first.id.clone(),
        workspace: "default".into(),
        created_at: case.now(),
        seq: 1,
        action: "act".to_owned(),
        decision: "allow".to_owned(),
        detail: Json::Null,
        hash: Hash::default(),
    };
    right.hash = right.expected_hash(&Hash::default());
    must_equal!(first, right, "the record that was appended");
    let given = NewAudit::new("", "").id("mine").created_at(Case::at(-7)).detail(json!([]));
    let second = store.append_audit(given).await?;
    let mut right = AuditRecord {
        id: "mine".into(),
        workspace: "default".into(),
        created_at: Case::at(-7),
        seq: 2,
        action: String::new(),
        decision: String::new(),
        detail: json!([]),
        hash: Hash::default(),
    };
    right.hash = right.expected_hash(&first.hash);
    must_equal!(second, right, "the record that was appended with all fields");
    must_equal!(log(case, "default").await?, [first, second], "the audit log");
    Ok(())
}

pub(crate) async fn numbers(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    // Workspaces in turn, and a clock that steps back.
    for n in 1..=5 {
        for workspace in ["", "acme", "acme-corp"] {
            case.set_clock(Case::at(-i64::try_from(n).unwrap_or_default()));
            let record = store.append_audit(new(workspace, "act")).await?;
            must_equal!(record.seq, n, "the number of the record in {workspace:?}");
        }
    }
    let batch: Batch = (0..3).map(|_| new("acme", "act")).collect();
    case.backend().commit(batch).await?;
    for (workspace, length) in [("", 5), ("acme", 8), ("acme-corp", 5)] {
        chain_holds(case, workspace, length).await?;
    }
    Ok(())
}

/// Computed by another program than this one.
const HASHES: [&str; 2] = [
    "2a4933151dfb0827896485c5d768b9978a5b9014646ffcfe18bbca3bd90179c6",
    "a0e7ce385008b1b27b9ec79978d8881bb815f9a619617243870a3a5d7e2c79c0",
];

const DETAIL: &str =
    r#"{"é": null, "a": "\u0000é\n", "Z": [1, 2.5, -0.0, 18446744073709551615], "": {}}"#;

fn parsed(text: &str) -> Result<Json, Failure> {
    serde_json::from_str(text).map_err(|e| Failure::new("JSON", e.to_string()))
}

pub(crate) async fn known_hashes(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let one =
        NewAudit::new("deploy", "allow").id("aud-1").workspace("acme").detail(parsed(DETAIL)?);
    let two = NewAudit::new("", "deny").id("aud-2").workspace("acme").created_at(Case::at(-1));
    for (new, right) in [one, two].into_iter().zip(HASHES) {
        let record = store.append_audit(new).await?;
        must_equal!(record.hash.to_string(), right, "the hash of {record:?}");
    }
    let read: Vec<String> = log(case, "acme").await?.iter().map(|r| r.hash.to_string()).collect();
    must_equal!(read, HASHES, "the hashes as they are read");
    Ok(())
}

pub(crate) async fn key_order(case: &mut Case) -> Verdict {
    let texts = [
        r#"{"b": 1, "a": {"y": [{"d": 1, "c": 2}], "x": null}, "B": 0.1}"#,
        r#"{"B": 0.1, "a": {"x": null, "y": [{"c": 2, "d": 1}]}, "b": 1}"#,
    ];
    let store = case.reflective()?;
    let mut records = Vec::new();
    for text in texts {
        let new = new("acme", "act").id("same").detail(parsed(text)?);
        records.push(store.append_audit(new).await?);
    }
    must_equal!(records[1], records[0], "the record whose keys were written in another order");
    store.append_audit(new("acme", "act").detail(parsed(texts[1])?)).await?;
    chain_holds(case, "acme", 2).await
}

pub(crate) async fn head(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let empty = store.audit_head(&"acme".into()).await?;
    must_equal!(empty, AuditHead::empty("acme".into()), "the head of an empty chain");
    for _ in 0..3 {
        let record = store.append_audit(new("acme", "act")).await?;
        let head = store.audit_head(&"acme".into()).await?;
        let right = AuditHead { workspace: "acme".into(), seq: record.seq, hash: record.hash };
        must_equal!(head, right, "the head after an append");
    }
    let other = store.audit_head(&Workspace::default()).await?;
    must_equal!(other, AuditHead::empty(Workspace::default()), "the head of another workspace");
    Ok(())
}

pub(crate) async fn reopened(case: &mut Case) -> Verdict {
    for n in 0..3 {
        case.reflective()?
            .append_audit(new("acme", "act").detail(json!({"n": n, "f": 0.1})))
            .await?;
    }
    let before = log(case, "acme").await?;
    case.reopen().await?;
    must_equal!(log(case, "acme").await?, before, "the audit log after reopening");
    chain_holds(case, "acme", 3).await?;
    case.reflective()?.append_audit(new("acme", "act")).await?;
    chain_holds(case, "acme", 4).await
}

/// 16 tasks append at once, in turn on these handles.
async fn race(case: &Case, stores: &[Arc<dyn ReflectiveStore>]) -> Verdict {
    let mut tasks = JoinSet::new();
    for n in 0..16 {
        let store = stores[n % stores.len()].clone();
        let new = new("acme", "act").detail(json!({"z": n, "a": 0.1, "m": null}));
        tasks.spawn(async move { store.append_audit(new).await });
    }
    let mut seqs = Vec::new();
    for record in tasks.join_all().await {
        seqs.push(record?.seq);
    }
    seqs.sort_unstable();
    must_equal!(seqs, (1..=16).collect::<Vec<_>>(), "the numbers that the appends were given");
    chain_holds(case, "acme", 16).await
}

pub(crate) async fn concurrent(case: &mut Case) -> Verdict {
    race(case, &[case.reflective()?]).await
}

pub(crate) async fn concurrent_handles(case: &mut Case) -> Verdict {
    let second = case.second_handle("second").await?;
    let other = second
        .reflective
        .clone()
        .ok_or_else(|| Failure::new("the second handle has ReflectiveStore", "it has not"))?;
    race(case, &[case.reflective()?, other]).await?;
    second.backend.close().await?;
    Ok(())
}

pub(crate) async fn forgotten(case: &mut Case) -> Verdict {
    for workspace in ["acme", "acme-corp", "acme"] {
        case.reflective()?.append_audit(new(workspace, "act").detail(json!("secret"))).await?;
    }
    let forget = Op::ForgetWorkspace { workspace: "acme".into() };
    case.backend().commit_one(forget.clone()).await?;
    chain_holds(case, "acme", 0).await?;
    chain_holds(case, "acme-corp", 1).await?;
    case.reflective()?.append_audit(new("acme", "act")).await?;
    chain_holds(case, "acme", 1).await?;
    // The same within one batch.
    let batch = Batch::new()
        .with(new("acme", "act"))
        .with(forget)
        .with(new("acme", "one"))
        .with(new("acme", "two"));
    case.backend().commit(batch).await?;
    chain_holds(case, "acme", 2).await?;
    let actions: Vec<String> = log(case, "acme").await?.into_iter().map(|r| r.action).collect();
    must_equal!(actions, ["one", "two"], "what was done");
    Ok(())
}

pub(crate) async fn listing(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let workspaces = ["b", "", "\u{10000}", "a\0", "a", "\u{fffd}", "B"];
    for n in 0..12 {
        for workspace in workspaces {
            let at = Case::at(-n);
            store.append_audit(new(workspace, "act").created_at(at)).await?;
        }
    }
    let seqs: Vec<u64> = (1..=12).collect();
    for limit in [1, 5, 12, usize::MAX] {
        let one = in_pages!(store.audit_log(ListAudit::new().scope("a")), limit);
        let one: Vec<(&str, u64)> = one.iter().map(|r| (r.workspace.as_str(), r.seq)).collect();
        let right: Vec<(&str, u64)> = seqs.iter().map(|seq| ("a", *seq)).collect();
        must_equal!(one, right, "the log of one workspace in pages of {limit}");
        let all = in_pages!(store.audit_log(ListAudit::new()), limit);
        let all: Vec<(&str, u64)> = all.iter().map(|r| (r.workspace.as_str(), r.seq)).collect();
        let sorted = ["", "B", "a", "a\0", "b", "\u{fffd}", "\u{10000}"];
        let right: Vec<(&str, u64)> =
            sorted.iter().flat_map(|w| seqs.iter().map(|seq| (*w, *seq))).collect();
        must_equal!(all, right, "the log of all workspaces in pages of {limit}");
    }
    let elsewhere = store.audit_log(&ListAudit::new().scope("A")).await?.items;
    must_equal!(elsewhere, [], "the log of a workspace without records");
    let scan = Scan::new(RecordKind::Audit).scope(Scope::All);
    let scanned = case.backend().scan(&scan).await?.items;
    let scanned: Vec<&str> = scanned.iter().map(|r| r.workspace().as_str()).collect();
    must_equal!(scanned[..14], [workspaces, workspaces].concat(), "a scan's first workspaces");
    Ok(())
}

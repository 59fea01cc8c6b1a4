//! A file system without room.

#![cfg(can_watch)]

use std::{fs, path::Path};

use memkeep_core::{
    Batch, ErrorKind, ListTurns, MemoryBackend, NewSession, NewTurn, Op, verify::Verify,
};
use memkeep_durability::{STORE, Subject};

mod support;

const BALLAST: usize = 1 << 20;

#[test]
#[cfg_attr(not(can_mount), ignore = "no file system can be mounted here: it takes root")]
fn a_full_file_system_is_survived() {
    support::in_small_file_system("child_fills_a_file_system", "4m");
}

/// Not a test of its own.
#[tokio::test]
async fn child_fills_a_file_system() {
    let Some(folder) = support::small_file_system() else { return };
    for subject in Subject::durable() {
        let folder = folder.join(subject.name);
        fs::create_dir(&folder).unwrap();
        fill(&subject, &folder).await;
        fs::remove_dir_all(&folder).unwrap();
    }
}

/// `StorageFull` when there is no room; what is there is read meanwhile; with room again the store goes
/// on, and nothing that was acknowledged is missing.
async fn fill(subject: &Subject, folder: &Path) {
    let name = subject.name;
    let (path, ballast) = (folder.join(STORE), folder.join("ballast"));
    let store = subject.open(&path).await.unwrap();
    fs::write(&ballast, vec![1; BALLAST]).unwrap();
    let mut acknowledged = 0;
    let refused = loop {
        match store.commit(batch(acknowledged)).await {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(acknowledged > 5, "{name}");
    assert_eq!(refused.kind(), ErrorKind::StorageFull, "{name}: {refused:?}");
    for _ in 0..3 {
        let refused = store.commit(batch(acknowledged)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::StorageFull, "{name}: {refused:?}");
        assert_eq!(turns(&*store).await, acknowledged, "{name}");
    }
    let refused = store.backup(&folder.join("copy")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::StorageFull, "{name}: {refused:?}");
    assert!(!folder.join("copy").exists(), "{name}");

    fs::remove_file(&ballast).unwrap();
    store.commit(batch(acknowledged)).await.unwrap();
    assert_eq!(turns(&*store).await, acknowledged + 1, "{name}");
    assert!(store.verify(&Verify::new()).await.unwrap().is_clean(), "{name}");
    store.close().await.unwrap();
    let store = subject.open(&path).await.unwrap();
    assert_eq!(turns(&*store).await, acknowledged + 1, "{name}");
    assert!(store.verify(&Verify::new()).await.unwrap().is_clean(), "{name}");
}

fn batch(number: usize) -> Batch {
    let text = format!("{number} {}", "x".repeat(50_000));
    Batch::new()
        .with(Op::EnsureSession(NewSession::new().id("s")))
        .with(NewTurn::new("s", "user", text).id(number.to_string()))
}

/// How many turns there are: the first so many.
async fn turns(store: &dyn MemoryBackend) -> usize {
    let turns = store.turns(&ListTurns::new("s").limit(usize::MAX)).await.unwrap().items;
    for (number, turn) in turns.iter().enumerate() {
        assert_eq!(turn.id.as_str(), number.to_string());
        assert!(turn.content.len() > 50_000);
    }
    turns.len()
}

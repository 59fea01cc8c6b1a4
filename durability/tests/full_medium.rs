//! A file system without room.

#![cfg(can_watch)]

use std::{fs, path::Path};

use memkeep_core::ErrorKind;
use memkeep_durability::{STORE, Subject};

use self::support::Filling;

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

fn text(number: usize) -> String {
    format!("{number} {}", "x".repeat(50_000))
}

async fn fill(subject: &Subject, folder: &Path) {
    let (path, ballast) = (folder.join(STORE), folder.join("ballast"));
    let filling = Filling { name: subject.name, text };
    let store = subject.open(&path).await.unwrap();
    fs::write(&ballast, vec![1; BALLAST]).unwrap();
    let acknowledged = filling.until_refused(&*store).await;
    let refused = store.backup(&folder.join("copy")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::StorageFull, "{}: {refused:?}", subject.name);
    assert!(!folder.join("copy").exists(), "{}", subject.name);

    fs::remove_file(&ballast).unwrap();
    filling.goes_on(&*store, acknowledged).await;
    store.close().await.unwrap();
    let store = subject.open(&path).await.unwrap();
    filling.is_whole(&*store, acknowledged + 1).await;
}

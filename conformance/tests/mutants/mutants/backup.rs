//! Copies, and what compaction keeps and wipes.

use std::{
    fs,
    io::Write,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use memkeep_core::*;

use crate::{
    broken::Compact,
    defect::{Defect, Store},
    mutant::{Mutant, mutant},
    shared_map::{Copied, read_copy, write_copy},
};

/// The copy is written, and its pairs are changed.
fn copied(d: Defect, f: fn(&mut Copied)) -> Defect {
    d.after(move |path: &PathBuf, (): &mut ()| {
        let mut pairs = read_copy(path);
        f(&mut pairs);
        write_copy(path, &pairs);
    })
}

/// After a compaction, the rows that commits decide upon are changed.
fn compacted(d: Defect, f: fn(&mut decide::Loaded)) -> Defect {
    let compacted = Arc::new(AtomicBool::new(false));
    let seen = compacted.clone();
    d.before(move |_: &mut Compact| compacted.store(true, SeqCst)).load(move |loaded| {
        if seen.load(SeqCst) {
            f(loaded);
        }
    })
}

// The tables of receipts in the key layout of memory-kv.
const RECEIPTS: [u8; 2] = [0x11, 0x12];

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("a copy is empty", &["BACKUP-COPY-01", "BACKUP-COPY-02", "BACKUP-PATH-01"], |d| {
        copied(d, Vec::clear)
    }),
    mutant("a copy has no receipts", &["BACKUP-COPY-01"], |d| {
        copied(d, |pairs| pairs.retain(|(key, _)| !RECEIPTS.contains(&key[0])))
    }),
    mutant("a copy lacks the last commit", &["BACKUP-COPY-01"], |d| {
        let before: Arc<Mutex<Copied>> = Arc::default();
        let last = before.clone();
        d.instead(move |store: Store, batch: Batch| {
            let before = before.clone();
            async move {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("before");
                store.backup(&path).await?;
                *before.lock().unwrap() = read_copy(&path);
                store.commit(batch).await
            }
        })
        .after(move |path: &PathBuf, (): &mut ()| write_copy(path, &last.lock().unwrap()))
    }),
    mutant("a copy is of two moments", &["BACKUP-COPY-02"], |d| {
        d.instead(|store: Store, path: PathBuf| async move {
            store.backup(&path).await?;
            let first = read_copy(&path);
            fs::remove_file(&path).unwrap();
            // Long enough for whoever writes.
            tokio::time::sleep(Duration::from_millis(20)).await;
            store.backup(&path).await?;
            let mut pairs = read_copy(&path);
            // Records of the later moment, and what leads to them of the earlier.
            pairs.retain(|(key, _)| key[0] < 0x20);
            pairs.extend(first.into_iter().filter(|(key, _)| key[0] >= 0x20));
            write_copy(&path, &pairs);
            Ok(())
        })
    }),
    mutant("a backup overwrites what is there", &["BACKUP-PATH-01"], |d| {
        d.before(|path: &mut PathBuf| {
            let _ = fs::remove_file(path);
        })
    }),
    mutant("a backup makes folders", &["BACKUP-FAIL-01"], |d| {
        d.before(|path: &mut PathBuf| fs::create_dir_all(path.parent().unwrap()).unwrap())
    }),
    mutant("a backup that fails leaves a file", &["BACKUP-FAIL-01"], |d| {
        d.result(|path: &PathBuf, result: &mut Result<()>| {
            if result.is_err() {
                let _ = fs::write(path, "");
            }
        })
    }),
    mutant("compaction forgets receipts", &["COMPACT-KEEP-05", "COMPACT-KEEP-07"], |d| {
        compacted(d, |loaded| loaded.receipt = None)
    }),
    mutant("compaction forgets origins", &["COMPACT-KEEP-06", "COMPACT-KEEP-07"], |d| {
        compacted(d, |loaded| {
            loaded.sessions.values_mut().for_each(|row| row.origin = None);
            loaded.turns.values_mut().for_each(|row| row.origin = None);
            loaded.episodes.values_mut().for_each(|row| row.origin = None);
        })
    }),
    mutant("a compacted store lacks the last commit", &["COMPACT-KEEP-07"], |d| {
        let compacted = Arc::new(AtomicBool::new(false));
        let seen = compacted.clone();
        d.before(move |_: &mut Compact| compacted.store(true, SeqCst)).open(move |map| {
            if seen.swap(false, SeqCst) {
                map.lose_last();
            }
        })
    }),
    mutant("compaction leaves a log of all batches", &["COMPACT-WIPE-01"], |d| {
        let folder: Arc<Mutex<PathBuf>> = Arc::default();
        let log = folder.clone();
        d.open(move |map| folder.lock().unwrap().clone_from(&map.folder)).before(
            move |batch: &mut Batch| {
                let path = log.lock().unwrap().join("log");
                let file = fs::OpenOptions::new().create(true).append(true).open(path);
                serde_json::to_writer(file.as_ref().unwrap(), batch).unwrap();
                file.unwrap().flush().unwrap();
            },
        )
    }),
];

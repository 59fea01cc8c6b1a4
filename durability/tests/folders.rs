//! The folders that are made for a store.

#![cfg(can_watch)]

use std::{fs, path::PathBuf, sync::Arc};

use fastrand::Rng;
use memkeep_core::ErrorKind;
use memkeep_durability::{
    Subject,
    calls::{Watch, watch},
    disk::{Errno, Image, Loss, Recorder, Replay},
};
use tempfile::TempDir;

/// A folder that is there, and the two below it that are not.
struct Folders {
    path: PathBuf,
    /// Who watches the one that is there, and the first of the others.
    recorders: [Arc<Recorder>; 2],
    _watches: [Watch; 2],
    _folder: TempDir,
}

const FIRST: &str = "first";
const SECOND: &str = "second";

impl Folders {
    fn new(recorder: impl Fn(usize) -> Recorder) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(folder.path()).unwrap();
        let recorders = [0, 1].map(|n| Arc::new(recorder(n)));
        let places = [path.clone(), path.join(FIRST)];
        let watches = [0, 1].map(|n| watch(&places[n], Arc::clone(&recorders[n])).unwrap());
        Self { path, recorders, _watches: watches, _folder: folder }
    }

    async fn open(&self, subject: &Subject) -> memkeep_core::Result<()> {
        let store = subject.open(&self.path.join(FIRST).join(SECOND).join("memory.db")).await?;
        store.close().await
    }

    /// Which of the new folders are there after a power cut that takes what it can.
    fn left(&self) -> [bool; 2] {
        [(0, FIRST), (1, SECOND)].map(|(n, name)| {
            let trace = self.recorders[n].trace();
            let mut replay = Replay::new(&trace);
            replay.advance(trace.events().len());
            let image = replay.image(Loss::Everything, &mut Rng::with_seed(0));
            image.files.contains_key(name)
        })
    }
}

fn honest(_: usize) -> Recorder {
    Recorder::new(Image::default())
}

#[tokio::test]
async fn a_power_cut_after_opening_takes_no_folder_away() {
    for subject in Subject::durable() {
        let folders = Folders::new(honest);
        folders.open(&subject).await.unwrap();
        assert_eq!(folders.left(), [true; 2], "{subject:?}");
    }
}

#[tokio::test]
async fn a_disk_that_lies_is_caught() {
    let folders = Folders::new(|n| honest(n).lying());
    folders.open(&Subject::sqlite()).await.unwrap();
    assert_eq!(folders.left(), [false; 2]);
}

/// Each call in the folders fails once: either the store is opened and its folders are certain, or the
/// next to open it does not take for granted what was not put down.
#[tokio::test]
async fn a_folder_that_cannot_be_made_certain_is_made_again() {
    for subject in Subject::durable() {
        for watched in 0..2 {
            let calls = Folders::new(honest);
            calls.open(&subject).await.unwrap();
            for (number, call) in calls.recorders[watched].calls().into_iter().enumerate() {
                for errno in [Errno::Io, Errno::NoSpace] {
                    let folders = Folders::new(|n| {
                        let recorder = honest(n);
                        if n == watched { recorder.failing(number, errno) } else { recorder }
                    });
                    if let Err(refused) = folders.open(&subject).await {
                        let kinds = [ErrorKind::Unavailable, ErrorKind::StorageFull];
                        assert!(
                            kinds.contains(&refused.kind()),
                            "{subject:?}, {call:?}: {refused:?}"
                        );
                        folders.open(&subject).await.unwrap();
                    }
                    assert_eq!(folders.left(), [true; 2], "{subject:?}, {watched}, {call:?}");
                }
            }
        }
    }
}

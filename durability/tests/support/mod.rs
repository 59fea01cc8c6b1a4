//! A small file system for a test, and what fills it.

use std::path::PathBuf;

use memkeep_core::{
    Batch, ErrorKind, ListTurns, MemoryBackend, NewSession, NewTurn, Op, verify::Verify,
};

/// Where a child finds its file system.
const FOLDER: &str = "MEMKEEP_TEST_FULL";

/// Runs a test of this program in a name space of its own, where a file system of `size` is mounted.
pub(crate) fn in_small_file_system(test: &str, size: &str) {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("mount -t tmpfs -o size={size} tmpfs \"$0\" && exec \"$@\"");
    let mut child = std::process::Command::new("unshare");
    child.args(option_env!("MEMKEEP_UNSHARE").unwrap_or_default().split(' '));
    child.args(["sh", "-c", &script]).arg(folder.path()).arg(std::env::current_exe().unwrap());
    child.args([test, "--exact", "--nocapture"]).env(FOLDER, folder.path());
    assert!(child.status().unwrap().success());
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 0, "it was mounted for the child alone");
}

/// The file system of the child of such a test; none if this is no child.
pub(crate) fn small_file_system() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Fills the file system of a store with turns, and sees how it goes on when there is room again.
pub(crate) struct Filling {
    /// What the store is called.
    pub(crate) name: &'static str,
    /// What a turn says.
    pub(crate) text: fn(usize) -> String,
}

impl Filling {
    /// Until there is no room: `StorageFull`; what is there is read meanwhile. How many turns there are.
    pub(crate) async fn until_refused(&self, store: &dyn MemoryBackend) -> usize {
        let mut acknowledged = 0;
        let refused = loop {
            match store.commit(self.batch(acknowledged)).await {
                Ok(_) => acknowledged += 1,
                Err(error) => break error,
            }
        };
        assert!(acknowledged > 5, "{}", self.name);
        assert_eq!(refused.kind(), ErrorKind::StorageFull, "{}: {refused:?}", self.name);
        for _ in 0..3 {
            let refused = store.commit(self.batch(acknowledged)).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::StorageFull, "{}: {refused:?}", self.name);
            self.has(store, acknowledged).await;
        }
        acknowledged
    }

    /// With room: the store goes on, and nothing that was acknowledged is missing. One turn is added.
    pub(crate) async fn goes_on(&self, store: &dyn MemoryBackend, acknowledged: usize) {
        store.commit(self.batch(acknowledged)).await.unwrap();
        self.is_whole(store, acknowledged + 1).await;
    }

    /// The first so many turns are there, and all is well.
    pub(crate) async fn is_whole(&self, store: &dyn MemoryBackend, count: usize) {
        self.has(store, count).await;
        assert!(store.verify(&Verify::new()).await.unwrap().is_clean(), "{}", self.name);
    }

    async fn has(&self, store: &dyn MemoryBackend, count: usize) {
        let turns = store.turns(&ListTurns::new("s").limit(usize::MAX)).await.unwrap().items;
        assert_eq!(turns.len(), count, "{}", self.name);
        for (number, turn) in turns.iter().enumerate() {
            assert_eq!(turn.id.as_str(), number.to_string());
            assert_eq!(turn.content, (self.text)(number));
        }
    }

    fn batch(&self, number: usize) -> Batch {
        Batch::new()
            .with(Op::EnsureSession(NewSession::new().id("s")))
            .with(NewTurn::new("s", "user", (self.text)(number)).id(number.to_string()))
    }
}

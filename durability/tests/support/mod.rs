//! A small file system for a test.

use std::path::PathBuf;

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

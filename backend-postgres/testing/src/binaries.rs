use std::path::{Path, PathBuf};

/// Set where PostgreSQL must be there.
pub(crate) const REQUIRE: &str = "MEMKEEP_REQUIRE_POSTGRES";

/// Where Debian puts the servers, a folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The folder of `initdb`, `pg_ctl` and `postgres`, if PostgreSQL is installed: one in the `PATH`, or
/// Debian's newest.
pub(crate) fn folder() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |folder: &Path| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    let in_path = std::env::split_paths(&path).find(|folder| is_there(folder));
    // A link may have been made for some of them only.
    let in_path = in_path.and_then(|folder| {
        let initdb = std::fs::canonicalize(folder.join("initdb")).ok()?;
        Some(initdb.parent()?.to_owned())
    });
    in_path.or_else(|| {
        let versions = std::fs::read_dir(DEBIAN).ok()?.filter_map(Result::ok);
        let folders = versions.map(|version| version.path().join("bin")).filter(|f| is_there(f));
        folders.max_by_key(|folder| {
            let version = folder.parent().and_then(Path::file_name).and_then(|name| name.to_str());
            version.and_then(|version| version.parse::<u32>().ok())
        })
    })
}

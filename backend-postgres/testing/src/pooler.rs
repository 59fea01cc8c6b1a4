use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::{
    Server,
    server::{ROLE, own_folder},
    watchdog::Watchdog,
};

/// A running `PgBouncer` in transaction mode before a server.
pub struct Pooler {
    folder: PathBuf,
    _watchdog: Watchdog,
}

impl Pooler {
    /// The one before the server that all tests of this process share.
    ///
    /// # Panics
    /// If there is none to start.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Pooler> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(Server::shared(), 8))
    }

    /// Starts one with `connections` to each database of `server`.
    ///
    /// # Panics
    /// If `pgbouncer` is not installed, or does not start.
    pub fn start(server: &Server, connections: u32) -> Self {
        let folder = own_folder();
        let settings = format!(
            "[databases]\n* = host={server} port=5432 user={ROLE}\n[pgbouncer]\nlisten_addr =\n\
             listen_port = 5432\nunix_socket_dir = {own}\nauth_type = any\n\
             pool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = {connections}\n\
             server_idle_timeout = 5\nlogfile = {own}/log\npidfile = {own}/pid\n",
            server = server.socket().display(),
            own = folder.display(),
        );
        let file = folder.join("pgbouncer.ini");
        fs::write(&file, settings).expect("the settings");
        let start = "pgbouncer -q \"$1/pgbouncer.ini\" </dev/null >\"$1/start\" 2>&1 & \
            until [ -S \"$1/.s.PGSQL.5432\" ]; do \
            kill -0 $! || { cat \"$1/start\"; exit 1; }; sleep 0.05; done; echo ready";
        let stop = "kill -9 $!; rm -rf \"$1\"";
        let watchdog = Watchdog::start(start, stop, &[&folder]);
        Self { folder, _watchdog: watchdog }
    }

    /// The folder of its socket.
    pub fn socket(&self) -> &Path {
        &self.folder
    }
}

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use crate::{binaries, log, log::Log, watchdog::Watchdog};

/// The role that may do everything.
pub(crate) const ROLE: &str = "memkeep";

/// What every server is started with. Nothing needs to outlive the machine.
const SETTINGS: &str = "listen_addresses = ''\nmax_connections = 200\nshared_buffers = 64MB\n\
                        logging_collector = off\nlog_min_messages = fatal\n";

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Transactions are broken off, and all is written.
    Fast,
    /// As if the machine had failed: nothing more is written.
    Immediate,
}

/// The variable that tells a process the folder of another's shared server.
pub const SHARED_SERVER: &str = "MEMKEEP_TEST_SHARED_SERVER";

/// A running server with files of its own, on a Unix socket.
pub struct Server {
    folder: PathBuf,
    log: Log,
    /// None if it is another process's.
    _watchdog: Option<Watchdog>,
}

impl Server {
    /// The server that all tests of this process share, and those of the processes that it tells so with
    /// [`SHARED_SERVER`]. It does without syncing: what it keeps is gone with the process. It logs
    /// statements.
    ///
    /// # Panics
    /// If there is none to start.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| {
            if let Some(folder) = env::var_os(SHARED_SERVER) {
                return Self { folder: folder.into(), log: Log::default(), _watchdog: None };
            }
            let settings = "fsync = off\nfull_page_writes = off\nsynchronous_commit = on\n";
            Self::start(&(settings.to_owned() + log::SETTINGS))
        })
    }

    /// A server of its own, with more lines of `postgresql.conf`.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(settings: &str) -> Self {
        let folder = own_folder();
        let data = folder.join("data");
        run(command("initdb").arg("--pgdata").arg(&data).args([
            "--username",
            ROLE,
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]));
        Self::serve(folder, settings)
    }

    /// A standby of this server, which streams from it under the name `name`.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn standby(&self, name: &str, settings: &str) -> Self {
        let folder = own_folder();
        let connection =
            format!("host={} user={ROLE} application_name={name}", self.folder.display());
        run(command("pg_basebackup")
            .arg("--pgdata")
            .arg(folder.join("data"))
            .args(["--dbname", &connection])
            .args([
                "--wal-method=stream",
                "--checkpoint=fast",
                "--write-recovery-conf",
                "--no-sync",
            ]));
        Self::serve(folder, settings)
    }

    fn serve(folder: PathBuf, settings: &str) -> Self {
        let data = folder.join("data");
        let socket = format!("unix_socket_directories = '{}'\n", folder.display());
        let file = data.join("postgresql.conf");
        let before = fs::read_to_string(&file).expect("the settings");
        fs::write(&file, before + SETTINGS + &socket + settings).expect("the settings");
        let start = "\"$1/pg_ctl\" -D \"$2/data\" -l \"$2/log\" -w start >\"$2/start\" 2>&1 </dev/null \
            && echo ready || cat \"$2/start\" \"$2/log\"";
        let stop = "\"$1/pg_ctl\" -D \"$2/data\" -m immediate stop; rm -rf \"$2\"";
        let watchdog = Watchdog::start(start, stop, &[&bin(), &folder]);
        Self { folder, log: Log::default(), _watchdog: Some(watchdog) }
    }

    /// The folder of its socket.
    pub fn socket(&self) -> &Path {
        &self.folder
    }

    /// The URL of a database on it.
    pub fn url(&self, database: &str) -> String {
        let socket = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://{ROLE}@{socket}/{database}")
    }

    /// The statements that clients called `application` have sent and that were not told before, if it
    /// is the [`shared`](Self::shared) one: others do not log them.
    ///
    /// # Panics
    /// If its log cannot be read, or has never had any of theirs.
    pub fn new_statements(&self, application: &str) -> Vec<String> {
        self.log.new_statements(&self.folder.join("log"), application)
    }

    /// Puts a file into its data folder, which nobody but its user may read.
    ///
    /// # Panics
    /// If that fails.
    pub fn put_file(&self, name: &str, text: &str) {
        let file = self.folder.join("data").join(name);
        fs::write(&file, text).expect("a file");
        run(Command::new("chmod").arg("600").arg(&file));
        self.give(&file);
    }

    /// Makes a file or folder that of its user.
    ///
    /// # Panics
    /// If that fails.
    pub fn give(&self, path: &Path) {
        give_to_server_user(path);
    }

    /// Stops it, if it runs.
    ///
    /// # Panics
    /// If it does not stop.
    pub fn stop(&self, stop: Stop) {
        let mode = match stop {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        run(self.control().args(["-m", mode, "-w", "stop"]));
    }

    /// Starts it again.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_again(&self) {
        run(self.control().arg("-l").arg(self.folder.join("log")).args(["-w", "start"]));
    }

    /// Kills it with all its processes, as the end of its machine would.
    ///
    /// # Panics
    /// If it is not running.
    pub fn kill(&self) {
        let file = fs::read_to_string(self.folder.join("data/postmaster.pid")).expect("it runs");
        let pid = file.lines().next().expect("a process").to_owned();
        // Its children are those of its session.
        run(Command::new("pkill").args(["-KILL", "-s", &pid]));
    }

    /// Makes a standby take writes.
    ///
    /// # Panics
    /// If it is no standby.
    pub fn promote(&self) {
        run(self.control().args(["-w", "promote"]));
    }

    fn control(&self) -> Command {
        let mut control = command("pg_ctl");
        control.arg("-D").arg(self.folder.join("data"));
        control
    }
}

/// A folder that the server's user may write to. The watchdog removes it.
pub(crate) fn own_folder() -> PathBuf {
    let folder = tempfile::Builder::new().prefix("memkeep-pg-").tempdir().expect("a folder");
    let folder = folder.keep();
    give_to_server_user(&folder);
    folder
}

/// Makes a file or folder that of the server's user.
fn give_to_server_user(path: &Path) {
    if is_root() {
        run(Command::new("chown").arg("postgres:").arg(path));
    }
}

fn bin() -> PathBuf {
    binaries::folder().unwrap_or_else(|| {
        panic!("PostgreSQL is not installed, though {} is set", binaries::REQUIRE)
    })
}

/// A program of PostgreSQL.
fn command(name: &str) -> Command {
    as_server_user(&bin().join(name))
}

fn is_root() -> bool {
    // Whose this process is tells its folder.
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// A program; of root's processes one of the user `postgres`, since a server refuses to be root's.
pub(crate) fn as_server_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    command.current_dir("/");
    command
}

pub(crate) fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().expect("the program runs");
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

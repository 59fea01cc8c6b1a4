//! Running the binary.

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with the file of a store in it, which the first write makes.
pub(crate) struct Store {
    folder: TempDir,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A path in the folder, as a word.
    pub(crate) fn word(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The store's URL.
    pub(crate) fn url(&self) -> String {
        format!("sqlite:{}", self.word("store.db"))
    }

    /// Changes the file behind the command's back.
    pub(crate) fn damage(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.path("store.db")).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0);
    }

    /// The binary, with the store and nothing else of this process's surroundings.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = bare(words);
        command.env("MEMKEEP_STORE", self.url());
        command
    }

    /// Runs with an empty stdin.
    pub(crate) fn run(&self, words: &[&str]) -> Run {
        self.feed(words, b"")
    }

    /// Commits a batch.
    pub(crate) fn batch(&self, words: &[&str], ops: &[Value]) -> Run {
        let lines: Vec<String> = ops.iter().map(Value::to_string).collect();
        self.feed(&[&["batch"], words].concat(), lines.join("\n").as_bytes())
    }

    /// Runs with `stdin`.
    pub(crate) fn feed(&self, words: &[&str], stdin: &[u8]) -> Run {
        run(self.command(words), stdin)
    }

    /// What is printed by a run that ends with 0.
    pub(crate) fn text(&self, words: &[&str]) -> String {
        self.run(words).done().out
    }

    /// The JSON lines of a run that ends with 0.
    pub(crate) fn json(&self, words: &[&str]) -> Vec<Value> {
        self.run(&[words, &["--json"]].concat()).done().lines()
    }

    /// The one JSON line of a run that ends with 0.
    pub(crate) fn one(&self, words: &[&str]) -> Value {
        let [line] = self.json(words).try_into().unwrap();
        line
    }

    /// Makes something, and returns its id.
    pub(crate) fn make(&self, words: &[&str]) -> String {
        self.text(words).trim_end().to_owned()
    }
}

/// The binary without any store.
pub(crate) fn bare(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memkeep"));
    command.args(words).env_remove("MEMKEEP_STORE");
    command
}

pub(crate) fn run(mut command: Command, stdin: &[u8]) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its stdin may have ended before all of it is written.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Run {
        status: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// It ended with 0, and had nothing to complain about.
    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!((self.status, self.err.as_str()), (Some(0), ""), "{self:?}");
        self
    }

    /// It ended with `status` and an error of `kind`.
    #[track_caller]
    pub(crate) fn failed(self, status: i32, kind: &str) -> Self {
        assert_eq!(self.status, Some(status), "{self:?}");
        let json = serde_json::from_str::<Value>(&self.err);
        match &json {
            Ok(error) => assert_eq!(error["kind"], kind, "{self:?}"),
            Err(_) => assert!(self.err.starts_with(&format!("error[{kind}]: ")), "{self:?}"),
        }
        self
    }

    /// The JSON lines on stdout.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// The JSON error on stderr.
    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        serde_json::from_str(&self.err).expect(&self.err)
    }
}

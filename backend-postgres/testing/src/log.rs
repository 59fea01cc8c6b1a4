use std::{
    collections::BTreeSet,
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
    sync::{Mutex, PoisonError},
};

/// Settings by which a server logs each statement, without its parameters, and who sends it.
pub(crate) const SETTINGS: &str = "log_min_messages = log\nlog_checkpoints = off\n\
     log_autovacuum_min_duration = -1\nlog_statement = all\nlog_parameter_max_length = 0\n\
     log_parameter_max_length_on_error = 0\nlog_line_prefix = '\u{1}%a\u{1}'\n";

/// How an entry begins, before the name of the application.
const ENTRY: char = '\u{1}';

/// The log of a server, read once and forwards.
#[derive(Default)]
pub(crate) struct Log(Mutex<State>);

#[derive(Default)]
struct State {
    position: u64,
    /// All statements that were told.
    known: BTreeSet<String>,
}

impl Log {
    /// The statements in the file that `application` has sent, each once in the life of this value.
    ///
    /// # Panics
    /// If it has never sent any.
    pub(crate) fn new_statements(&self, file: &Path, application: &str) -> Vec<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        let mut log = File::open(file).expect("the server's log");
        log.seek(SeekFrom::Start(state.position)).expect("the server's log");
        log.read_to_end(&mut bytes).expect("the server's log");
        // The last line may not be whole yet.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        state.position += end as u64;
        let text = String::from_utf8_lossy(&bytes[..end]);
        let mut new = Vec::new();
        let mut entries = text.split(ENTRY).skip(1);
        while let (Some(sender), Some(entry)) = (entries.next(), entries.next()) {
            let Some(statement) = statement(entry).filter(|_| sender == application) else {
                continue;
            };
            if !state.known.contains(statement) {
                state.known.insert(statement.to_owned());
                new.push(statement.to_owned());
            }
        }
        assert!(!state.known.is_empty(), "{application} has sent nothing, or nothing is logged");
        new
    }
}

/// The statement that an entry tells of.
fn statement(entry: &str) -> Option<&str> {
    let told = entry.strip_prefix("LOG:  ")?;
    let (how, statement) = told.split_once(": ")?;
    (how == "statement" || how.starts_with("execute ")).then(|| statement.trim())
}

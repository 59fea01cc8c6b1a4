//! Writing down the calls on a store, as a program that can be pasted.

use std::{
    fmt::{self, Debug},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
// Every call of the contract is written down here.
#[allow(clippy::wildcard_imports)]
use memkeep_core::{
    verify::{Verify, VerifyReport},
    *,
};

use crate::{Handle, call::Call};

/// How many calls a failure shows at most: the last ones.
const SHOWN: usize = 200;
/// How many characters of a call, and of its answer, are shown.
const CALL_CHARS: usize = 2_000;
const ANSWER_CHARS: usize = 400;

/// The calls on a case's stores, in the order in which they began.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<(String, String)>>>);

impl Log {
    /// Writes a line down, whole.
    pub(crate) fn note(&self, line: &str) {
        self.push(line.to_owned(), "");
    }

    /// Shows what another log has instead.
    pub(crate) fn replace(&self, other: &Self) {
        let lines = other.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    }

    fn begin(&self, line: &str) -> usize {
        self.push(cut(line, CALL_CHARS), "no answer")
    }

    fn push(&self, line: String, answer: &str) -> usize {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push((line, answer.to_owned()));
        lines.len() - 1
    }

    fn end(&self, at: usize, answer: &impl Debug) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, shown)) = lines.get_mut(at) {
            // What is not set says nothing, and there is much of it.
            let answer = beginning(answer, 4 * ANSWER_CHARS);
            let unset = |field: &&str| [": None", ": {}"].iter().any(|end| field.ends_with(end));
            let set: Vec<&str> = answer.split(", ").filter(|field| !unset(field)).collect();
            let text = set.join(", ");
            *shown = match text.char_indices().nth(ANSWER_CHARS) {
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text,
            };
        }
    }

    /// The calls as Rust, each with its answer as a comment.
    pub fn program(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left_out = lines.len().saturating_sub(SHOWN);
        let mut program = String::new();
        if left_out > 0 {
            let note = format!("// {left_out} calls before these are left out\n");
            program.push_str(&note);
        }
        for (call, answer) in &lines[left_out..] {
            program.push_str(call);
            if !answer.is_empty() {
                program.push_str("\n    // ");
                program.push_str(answer);
            }
            program.push('\n');
        }
        program
    }
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{} …({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// The beginning of an answer. Only that much is written out, however long the answer is.
fn beginning(answer: &impl Debug, chars: usize) -> String {
    struct Beginning {
        text: String,
        left: usize,
    }
    impl fmt::Write for Beginning {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for c in text.chars() {
                self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
                self.text.push(c);
            }
            Ok(())
        }
    }
    let mut beginning = Beginning { text: String::new(), left: chars };
    if fmt::write(&mut beginning, format_args!("{answer:?}")).is_err() {
        beginning.text.push('…');
    }
    beginning.text
}

/// The batch that a recorded program writes as JSON.
///
/// # Panics
/// If `json` is not a batch: it was copied from a failure.
pub fn batch(json: &str) -> Batch {
    serde_json::from_str(json).unwrap_or_else(|e| panic!("not a batch: {e}"))
}

/// The same handle, with every call written down under `name`.
pub(crate) fn recorded(handle: Handle, name: &'static str, log: &Log) -> Handle {
    let Handle { backend, episodic, sessions, reflective } = handle;
    macro_rules! part {
        ($part:expr) => {
            $part.map(|store| Arc::new(Recorded { store, name, log: log.clone() }) as _)
        };
    }
    Handle {
        backend: Arc::new(Recorded { store: backend, name, log: log.clone() }),
        episodic: part!(episodic),
        sessions: part!(sessions),
        reflective: part!(reflective),
    }
}

struct Recorded<S: ?Sized> {
    store: Arc<S>,
    name: &'static str,
    log: Log,
}

macro_rules! record {
    ($self:ident, $method:ident ( $($argument:expr),* )) => {{
        let arguments: Vec<String> = vec![$(Call::text(&$argument)),*];
        let line = format!(
            "{}.{}({}).await;",
            $self.name,
            stringify!($method),
            arguments.join(", ")
        );
        let at = $self.log.begin(&line);
        let answer = $self.store.$method($($argument),*).await;
        $self.log.end(at, &answer);
        answer
    }};
}

macro_rules! recorded_backend {
    ($($store:ident)*) => {$(
        #[async_trait]
        impl Backend for Recorded<dyn $store> {
            fn info(&self) -> BackendInfo {
                self.store.info()
            }
            async fn commit(&self, batch: Batch) -> Result<Receipt> {
                record!(self, commit(batch))
            }
            async fn scan(&self, scan: &Scan) -> Result<Page<Record>> {
                record!(self, scan(scan))
            }
            async fn close(&self) -> Result<()> {
                record!(self, close())
            }
            async fn workspaces(&self) -> Result<Vec<WorkspaceCounts>> {
                record!(self, workspaces())
            }
            async fn stats(&self, scope: &Scope) -> Result<Stats> {
                record!(self, stats(scope))
            }
            async fn prune(&self, prune: &Prune) -> Result<Counts> {
                record!(self, prune(prune))
            }
            async fn verify(&self, verify: &Verify) -> Result<VerifyReport> {
                record!(self, verify(verify))
            }
            async fn compact(&self) -> Result<()> {
                record!(self, compact())
            }
            async fn backup(&self, path: &Path) -> Result<()> {
                record!(self, backup(path))
            }
            fn subscribe(&self) -> Result<Feed> {
                self.log.note(&format!("let mut feed = {}.subscribe()?;", self.name));
                self.store.subscribe()
            }
        }
    )*};
}

recorded_backend!(Backend EpisodicBackend SessionStore ReflectiveStore);

#[async_trait]
impl EpisodicBackend for Recorded<dyn EpisodicBackend> {
    async fn episode(&self, scope: &Scope, id: &EpisodeId) -> Result<Option<Episode>> {
        record!(self, episode(scope, id))
    }
    async fn episodes(&self, list: &ListEpisodes) -> Result<Page<Episode>> {
        record!(self, episodes(list))
    }
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Hit<Episode>>> {
        record!(self, recall(query))
    }
}

#[async_trait]
impl SessionStore for Recorded<dyn SessionStore> {
    async fn session(&self, scope: &Scope, id: &SessionId) -> Result<Option<Session>> {
        record!(self, session(scope, id))
    }
    async fn sessions(&self, list: &ListSessions) -> Result<Page<Session>> {
        record!(self, sessions(list))
    }
    async fn turn(&self, scope: &Scope, id: &TurnId) -> Result<Option<Turn>> {
        record!(self, turn(scope, id))
    }
    async fn turns(&self, list: &ListTurns) -> Result<Page<Turn>> {
        record!(self, turns(list))
    }
    async fn step(&self, scope: &Scope, id: &StepId) -> Result<Option<Step>> {
        record!(self, step(scope, id))
    }
    async fn steps(&self, list: &ListSteps) -> Result<Page<Step>> {
        record!(self, steps(list))
    }
    async fn find_turns(&self, find: &FindTurns) -> Result<Vec<Turn>> {
        record!(self, find_turns(find))
    }
    async fn recall_turns(&self, query: &RecallQuery) -> Result<Vec<Hit<Turn>>> {
        record!(self, recall_turns(query))
    }
}

#[async_trait]
impl ReflectiveStore for Recorded<dyn ReflectiveStore> {
    async fn note(&self, scope: &Scope, id: &NoteId) -> Result<Option<Note>> {
        record!(self, note(scope, id))
    }
    async fn notes(&self, list: &ListNotes) -> Result<Page<Note>> {
        record!(self, notes(list))
    }
    async fn state(&self, workspace: &Workspace, key: &str) -> Result<Option<StateEntry>> {
        record!(self, state(workspace, key))
    }
    async fn states(&self, list: &ListStates) -> Result<Page<StateEntry>> {
        record!(self, states(list))
    }
    async fn audit_log(&self, list: &ListAudit) -> Result<Page<AuditRecord>> {
        record!(self, audit_log(list))
    }
    async fn audit_head(&self, workspace: &Workspace) -> Result<AuditHead> {
        record!(self, audit_head(workspace))
    }
    async fn recall_notes(&self, query: &RecallQuery) -> Result<Vec<Hit<Note>>> {
        record!(self, recall_notes(query))
    }
}

//! Writing down the calls on a store, as a program that can be pasted.

use std::{
    fmt::{self, Debug},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
// Every call of the contract is written down here.
#[allow(clippy::wildcard_imports)]
use memkeep_core::{
    decide::Prepared,
    verify::{Verify, VerifyReport},
    *,
};
use serde::de::DeserializeOwned;

use crate::{Handle, call::Call};

/// How many calls a failure shows at most: the last ones.
const SHOWN: usize = 200;
/// How many characters of a call, and of its answer, are shown.
const CALL_CHARS: usize = 2_000;
const ANSWER_CHARS: usize = 400;

/// The calls on a case's stores, in the order in which they began.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    /// Each with its answer.
    calls: Vec<(String, String)>,
    /// Nothing is added any more.
    closed: bool,
}

impl Log {
    /// Writes a line down, whole.
    pub(crate) fn note(&self, line: &str) {
        self.push(line.to_owned(), "");
    }

    /// Shows what another log has instead.
    pub(crate) fn replace(&self, other: &Self) {
        let calls = other.lines().calls.clone();
        self.lines().calls = calls;
    }

    /// Leaves out what is called from now on: the clause has failed.
    pub(crate) fn close(&self) {
        self.lines().closed = true;
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a call down; where, if it is shown.
    fn begin(&self, line: &str) -> Option<usize> {
        self.push(cut(line, CALL_CHARS), "no answer")
    }

    fn push(&self, line: String, answer: &str) -> Option<usize> {
        let mut lines = self.lines();
        if lines.closed {
            return None;
        }
        lines.calls.push((line, answer.to_owned()));
        Some(lines.calls.len() - 1)
    }

    fn end(&self, at: Option<usize>, answer: &impl Debug) {
        let mut lines = self.lines();
        if let Some((_, shown)) = at.and_then(|at| lines.calls.get_mut(at)) {
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
        let calls = &self.lines().calls;
        let left_out = calls.len().saturating_sub(SHOWN);
        let mut program = String::new();
        if left_out > 0 {
            let note = format!("// {left_out} calls before these are left out\n");
            program.push_str(&note);
        }
        for (call, answer) in &calls[left_out..] {
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

/// What a recorded program writes as JSON: a batch, an op, what is to be created.
///
/// # Panics
/// If `json` is not what the call takes: it was copied from a failure.
pub fn from_json<T: DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json)
        .unwrap_or_else(|e| panic!("not a {}: {e}", std::any::type_name::<T>()))
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

/// All methods of a trait, the provided ones included, as the store under test has them.
macro_rules! recorded {
    ($part:ident {
        $(async $method:ident($($argument:ident: $ty:ty),*) -> $answer:ty;)*
        $(; $($more:item)*)?
    }) => {
        #[async_trait]
        // One that the trait provides would run here, and not as the store overrides it.
        #[deny(clippy::missing_trait_methods)]
        impl<S: $part + ?Sized> $part for Recorded<S> {
            $(async fn $method(&self, $($argument: $ty),*) -> Result<$answer> {
                let arguments: &[String] = &[$(Call::text(&$argument)),*];
                let call = concat!(".", stringify!($method), "(");
                let line = format!("{}{call}{}).await;", self.name, arguments.join(", "));
                let at = self.log.begin(&line);
                let answer = self.store.$method($($argument),*).await;
                self.log.end(at, &answer);
                answer
            })*
            $($($more)*)?
        }
    };
}

recorded! { Backend {
    async commit(batch: Batch) -> Receipt;
    async commit_prepared(prepared: Prepared) -> Receipt;
    async scan(scan: &Scan) -> Page<Record>;
    async close() -> ();
    async workspaces() -> Vec<WorkspaceCounts>;
    async stats(scope: &Scope) -> Stats;
    async prune(prune: &Prune) -> Counts;
    async verify(verify: &Verify) -> VerifyReport;
    async compact() -> ();
    async reindex() -> ();
    async backup(path: &Path) -> ();
    async commit_one(op: Op) -> Outcome;
    ;
    fn info(&self) -> BackendInfo {
        self.store.info()
    }
    fn subscribe(&self) -> Result<Feed> {
        self.log.note(&format!("let mut feed = {}.subscribe()?;", self.name));
        self.store.subscribe()
    }
    fn unsupported(&self, what: &'static str) -> Error {
        self.store.unsupported(what)
    }
} }

recorded! { EpisodicBackend {
    async episode(scope: &Scope, id: &EpisodeId) -> Option<Episode>;
    async episodes(list: &ListEpisodes) -> Page<Episode>;
    async recall(query: &RecallQuery) -> Vec<Hit<Episode>>;
    async add_episode(episode: NewEpisode) -> Episode;
    async revise_episode(revision: EpisodeRevision) -> Episode;
    async set_episode_open(id: &EpisodeId, open: bool) -> Episode;
    async delete_episode(id: &EpisodeId) -> Deleted;
} }

recorded! { SessionStore {
    async session(scope: &Scope, id: &SessionId) -> Option<Session>;
    async sessions(list: &ListSessions) -> Page<Session>;
    async turn(scope: &Scope, id: &TurnId) -> Option<Turn>;
    async turns(list: &ListTurns) -> Page<Turn>;
    async step(scope: &Scope, id: &StepId) -> Option<Step>;
    async steps(list: &ListSteps) -> Page<Step>;
    async last_turns(scope: &Scope, session: &SessionId, n: usize) -> Vec<Turn>;
    async find_turns(find: &FindTurns) -> Vec<Turn>;
    async recall_turns(query: &RecallQuery) -> Vec<Hit<Turn>>;
    async start_session(session: NewSession) -> Session;
    async ensure_session(session: NewSession) -> Session;
    async end_session(id: &SessionId) -> Session;
    async resume_session(id: &SessionId) -> Session;
    async set_summary(id: &SessionId, summary: Option<String>) -> Session;
    async delete_session(id: &SessionId) -> Deleted;
    async record_turn(turn: NewTurn) -> Turn;
    async record_step(step: NewStep) -> Step;
    async delete_turn(id: &TurnId) -> Deleted;
    async tag_turn(id: &TurnId, name: &str, value: Option<String>) -> Turn;
    async untag_turn(id: &TurnId, name: &str) -> Turn;
    async set_embedding(id: &TurnId, embedding_id: Option<String>) -> Turn;
} }

recorded! { ReflectiveStore {
    async note(scope: &Scope, id: &NoteId) -> Option<Note>;
    async notes(list: &ListNotes) -> Page<Note>;
    async state(workspace: &Workspace, key: &str) -> Option<StateEntry>;
    async states(list: &ListStates) -> Page<StateEntry>;
    async audit_log(list: &ListAudit) -> Page<AuditRecord>;
    async audit_head(workspace: &Workspace) -> AuditHead;
    async recall_notes(query: &RecallQuery) -> Vec<Hit<Note>>;
    async add_note(note: NewNote) -> Note;
    async delete_note(id: &NoteId) -> Deleted;
    async put_state(state: PutState) -> StateEntry;
    async delete_state(state: DeleteState) -> Deleted;
    async append_audit(audit: NewAudit) -> AuditRecord;
} }

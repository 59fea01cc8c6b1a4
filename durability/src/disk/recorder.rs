use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{Event, FileId, Image, Mark, Trace};

/// A kind of call that a store makes to its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Opening a file, or making it.
    Open,
    /// Reading from a file.
    Read,
    /// Writing to a file.
    Write,
    /// Setting a file's size.
    SetLen,
    /// Syncing a file.
    Sync,
    /// Asking for a file's size.
    Size,
    /// Locking a file.
    Lock,
    /// Making a folder in the folder.
    MakeFolder,
    /// Deleting a file.
    Delete,
    /// Giving a file another name.
    Rename,
    /// Mapping a file into memory.
    Map,
}

/// Why a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// No room is left on the device.
    NoSpace,
    /// The device failed.
    Io,
}

/// Writes down what a store does to its files, and makes a call fail.
#[derive(Debug, Default)]
pub struct Recorder {
    lies: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    trace: Trace,
    names: BTreeMap<String, FileId>,
    calls: Vec<Call>,
    fault: Option<(usize, Errno)>,
}

impl Recorder {
    /// For a store whose files are those of `image`.
    pub fn new(image: Image) -> Self {
        let trace = Trace::after(image);
        let state = State { names: trace.first_names(), trace, ..State::default() };
        Self { lies: false, state: Mutex::new(state) }
    }

    /// A disk that says it synced and did not.
    #[must_use]
    pub fn lying(mut self) -> Self {
        self.lies = true;
        self
    }

    /// Makes the call number `call` from the beginning, counted from 0, fail with `errno`.
    #[must_use]
    pub fn failing(self, call: usize, errno: Errno) -> Self {
        self.state().fault = Some((call, errno));
        self
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was done until now.
    pub fn trace(&self) -> Trace {
        self.state().trace.clone()
    }

    /// The calls that were made until now.
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// The call that failed, if one did.
    pub fn failed(&self) -> Option<Call> {
        let state = self.state();
        state.fault.and_then(|(number, _)| state.calls.get(number).copied())
    }

    /// Makes nothing fail any more.
    pub fn spare(&self) {
        self.state().fault = None;
    }

    /// Notes what the store's callers know.
    pub fn mark(&self, mark: Mark) {
        self.state().trace.events.push(Event::Mark(mark));
    }

    /// Counts a call that is to be made.
    ///
    /// Errors: the one to fail with instead of making it.
    pub fn call(&self, call: Call) -> Result<(), Errno> {
        let mut state = self.state();
        let number = state.calls.len();
        state.calls.push(call);
        match state.fault {
            Some((failing, errno)) if failing == number => Err(errno),
            _ => Ok(()),
        }
    }

    /// Notes that the file `name` was opened, and made if it was not there.
    pub fn open(&self, name: &str) -> FileId {
        let mut state = self.state();
        if let Some(file) = state.names.get(name) {
            return *file;
        }
        let file = FileId(state.trace.files);
        state.trace.files += 1;
        state.names.insert(name.to_owned(), file);
        state.trace.events.push(Event::Create { file, name: name.to_owned() });
        file
    }

    /// Notes that the file `name` is deleted.
    pub fn delete(&self, name: &str) {
        let mut state = self.state();
        if state.names.remove(name).is_some() {
            state.trace.events.push(Event::Delete { name: name.to_owned() });
        }
    }

    /// Notes that the file `from` gets the name `to`.
    pub fn rename(&self, from: &str, to: &str) {
        let mut state = self.state();
        if let Some(file) = state.names.remove(from) {
            state.names.insert(to.to_owned(), file);
            let (from, to) = (from.to_owned(), to.to_owned());
            state.trace.events.push(Event::Rename { file, from, to });
        }
    }

    /// Notes a write.
    pub fn write(&self, file: FileId, offset: u64, bytes: &[u8]) {
        self.state().trace.events.push(Event::Write { file, offset, bytes: bytes.to_vec() });
    }

    /// Notes a change of a size.
    pub fn set_len(&self, file: FileId, len: u64) {
        self.state().trace.events.push(Event::SetLen { file, len });
    }

    /// Syncs a file by `sync`.
    pub fn sync<T, E>(&self, file: FileId, sync: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let until = self.state().trace.events.len();
        let synced = sync();
        let event = match &synced {
            Ok(_) if self.lies => return synced,
            Ok(_) => Event::Sync { file, until },
            Err(_) => Event::FailedSync { file },
        };
        self.state().trace.events.push(event);
        synced
    }

    /// Notes that a file is mapped into memory.
    pub fn map(&self, file: FileId) {
        self.state().trace.events.push(Event::Map { file });
    }

    /// Syncs the folder by `sync`.
    pub fn sync_folder<T, E>(&self, sync: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let until = self.state().trace.events.len();
        let synced = sync();
        if synced.is_ok() && !self.lies {
            self.state().trace.events.push(Event::SyncFolder { until });
        }
        synced
    }
}

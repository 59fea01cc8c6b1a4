//! What stands between redb and the file of a store.
//!
//! redb writes to a file before it is known what is in it: it repairs what a crash left, and marks
//! the file as open. Here these writes are held back until the first commit, so that a file that is
//! refused, or only read, stays as it is; a file that may not be written can be repaired this way too.
//!
//! An error ends the use of a database for good. Another is then opened over the same file, whose
//! lock is kept meanwhile; the first can neither read nor write any more.

use std::{
    io,
    ops::Bound,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::{BackendError, StorageBackend};

use crate::store_file::StoreFile;

/// The storage of one database.
#[derive(Clone, Debug)]
pub(crate) struct Medium(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: Arc<StoreFile>,
    state: RwLock<State>,
    has_failed: AtomicBool,
    /// Whether another database stays open over the file, with its locks.
    is_guest: bool,
}

#[derive(Debug)]
enum State {
    /// Writes are held back.
    Held(Held),
    /// Writes go to the file.
    Open,
    /// Another has taken its place.
    Retired,
}

impl Medium {
    /// Over `file`, with writes held back.
    pub(crate) fn new(file: Arc<StoreFile>) -> io::Result<Self> {
        Self::over(file, false)
    }

    /// The same, while another is in use over `file`: this one only reads.
    pub(crate) fn of_guest(file: Arc<StoreFile>) -> io::Result<Self> {
        Self::over(file, true)
    }

    fn over(file: Arc<StoreFile>, is_guest: bool) -> io::Result<Self> {
        let visible = file.visible()?;
        let state = RwLock::new(State::Held(Held { visible, bytes: visible, writes: Vec::new() }));
        let has_failed = AtomicBool::new(false);
        Ok(Self(Arc::new(Inner { file, state, has_failed, is_guest })))
    }

    pub(crate) fn file(&self) -> &Arc<StoreFile> {
        &self.0.file
    }

    /// Whether something went wrong, after which another database must be opened.
    pub(crate) fn has_failed(&self) -> bool {
        self.0.has_failed.load(Ordering::Acquire)
    }

    pub(crate) fn fail(&self) {
        self.0.has_failed.store(true, Ordering::Release);
    }

    /// Writes what was held back, and holds nothing back any more.
    pub(crate) fn release(&self) -> io::Result<()> {
        let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Held(held) => self.noting(held.write_to(&self.0.file))?,
            State::Open => return Ok(()),
            State::Retired => return Err(retired()),
        }
        *state = State::Open;
        Ok(())
    }

    /// Waits for the accesses that go on, and refuses later ones.
    pub(crate) fn retire(&self) {
        self.fail();
        *self.0.state.write().unwrap_or_else(PoisonError::into_inner) = State::Retired;
    }

    fn noting<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if result.is_err() {
            self.fail();
        }
        result
    }

    /// An access to the file, and to what is held back while that is so.
    fn access<T>(
        &self,
        access: impl FnOnce(&StoreFile, Option<&Held>) -> io::Result<T>,
    ) -> io::Result<T> {
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
        self.noting(match &*state {
            State::Held(held) => access(&self.0.file, Some(held)),
            State::Open => access(&self.0.file, None),
            State::Retired => Err(retired()),
        })
    }

    fn change(
        &self,
        hold: impl FnOnce(&mut Held),
        write: impl FnOnce(&StoreFile) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.is_held() {
            let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
            if let State::Held(held) = &mut *state {
                hold(held);
                return Ok(());
            }
        }
        self.access(|file, _| write(file))
    }

    fn is_held(&self) -> bool {
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
        matches!(&*state, State::Held(_))
    }
}

fn retired() -> io::Error {
    io::Error::other("the store has been opened anew")
}

impl StorageBackend for Medium {
    fn len(&self) -> io::Result<u64> {
        self.access(|file, held| match held {
            Some(held) => Ok(held.bytes),
            None => file.storage.len(),
        })
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.access(|file, held| match held {
            Some(held) => held.read(file, offset, out),
            None => file.storage.read(offset, out),
        })
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.change(|held| held.set_len(bytes), |file| file.set_len(bytes))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.access(|file, held| if held.is_some() { Ok(()) } else { file.sync() })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(
            |held| held.writes.push((offset, data.to_owned())),
            |file| file.storage.write(offset, data),
        )
    }

    /// The locks stay with the file.
    fn close(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock((start, end))
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        if self.0.is_guest { Ok(()) } else { self.0.file.unlock((start, end)) }
    }
}

/// Writes that are held back: few and small, as redb makes them when it opens a file.
#[derive(Debug)]
struct Held {
    /// How much of the file itself is seen.
    visible: u64,
    bytes: u64,
    writes: Vec<(u64, Vec<u8>)>,
}

impl Held {
    fn read(&self, file: &StoreFile, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.saturating_add(out.len() as u64);
        if end > self.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let split = usize::try_from(self.visible.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (seen, beyond) = out.split_at_mut(split.min(out.len()));
        if !seen.is_empty() {
            file.storage.read(offset, seen)?;
        }
        beyond.fill(0);
        let within = |bytes, limit| usize::try_from(bytes).unwrap_or(usize::MAX).min(limit);
        for (at, data) in &self.writes {
            let start = within(at.saturating_sub(offset), out.len());
            let skipped = within(offset.saturating_sub(*at), data.len());
            for (byte, written) in out[start..].iter_mut().zip(&data[skipped..]) {
                *byte = *written;
            }
        }
        Ok(())
    }

    fn set_len(&mut self, bytes: u64) {
        if bytes < self.bytes {
            self.visible = self.visible.min(bytes);
            for (at, data) in &mut self.writes {
                data.truncate(usize::try_from(bytes.saturating_sub(*at)).unwrap_or(usize::MAX));
            }
        }
        self.bytes = bytes;
    }

    /// The header, which is what makes the rest count, comes last and in one piece: of a file that
    /// was empty, a crash leaves nothing but zeros, or all of it.
    fn write_to(&self, file: &StoreFile) -> io::Result<()> {
        if self.writes.is_empty() {
            return Ok(());
        }
        if self.visible < *file.bytes() {
            file.set_len(self.visible)?;
        }
        file.set_len(self.bytes)?;
        let mut header = Vec::new();
        for (at, data) in &self.writes {
            if *at > 0 {
                file.storage.write(*at, data)?;
                continue;
            }
            if header.len() < data.len() {
                header.resize(data.len(), 0);
            }
            header[..data.len()].copy_from_slice(data);
        }
        file.sync()?;
        file.storage.write(0, &header)?;
        file.sync()
    }
}

//! The system calls that this process makes to files, watched by [`Recorder`]s.
//!
//! The functions of the C library through which all of this program goes to its files, SQLite's C code and
//! Rust's standard library alike, are defined here anew: they note what is done in watched folders, make a
//! call fail that is to fail, and then make the system call. So a backend is watched that knows nothing of
//! it, with everything that it does: the copies that it makes, the names that it changes, the folders that
//! it syncs.

#![allow(unsafe_code, reason = "functions of the C library, and system calls, take raw pointers")]
#![allow(
    clippy::cast_possible_truncation,
    reason = "what a system call returns fits the type of the C library's function"
)]

use std::{
    collections::BTreeMap,
    ffi::CStr,
    fs, io,
    path::{Path, PathBuf},
    slice,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use libc::{c_char, c_int, c_long, c_void, mode_t, off64_t, size_t, ssize_t, stat64, syscall};

use crate::disk::{Call, Errno, Event, FileId, Image, Recorder, SECTOR};

/// Who watches which folder, and the open files there.
static WATCHED: Mutex<Watched> =
    Mutex::new(Watched { folders: BTreeMap::new(), open: BTreeMap::new() });
/// Whether anybody ever watched: a process that does not is not slowed down.
static IS_USED: AtomicBool = AtomicBool::new(false);

struct Watched {
    folders: BTreeMap<PathBuf, Arc<Recorder>>,
    open: BTreeMap<c_int, Open>,
}

/// What a descriptor stands for.
#[derive(Clone)]
enum Open {
    File(Arc<Recorder>, FileId),
    Folder(Arc<Recorder>),
}

impl Open {
    fn recorder(&self) -> &Recorder {
        match self {
            Self::File(recorder, _) | Self::Folder(recorder) => recorder,
        }
    }
}

/// A folder that is watched until this is dropped.
#[derive(Debug)]
pub struct Watch(PathBuf);

impl Drop for Watch {
    fn drop(&mut self) {
        watched().folders.remove(&self.0);
    }
}

/// Lets `recorder` see what is done, from now on, in `folder`: an absolute path without links.
///
/// Errors: `Unsupported` where system calls cannot be seen.
pub fn watch(folder: &Path, recorder: Arc<Recorder>) -> io::Result<Watch> {
    static WORKS: OnceLock<bool> = OnceLock::new();
    if *WORKS.get_or_init(|| try_out().unwrap_or(false)) {
        Ok(start(folder, recorder))
    } else {
        Err(io::Error::new(io::ErrorKind::Unsupported, "calls to files cannot be seen here"))
    }
}

fn start(folder: &Path, recorder: Arc<Recorder>) -> Watch {
    IS_USED.store(true, Ordering::Release);
    watched().folders.insert(folder.to_owned(), recorder);
    Watch(folder.to_owned())
}

/// Whether a file that is written is seen: it depends on how the program was linked.
fn try_out() -> io::Result<bool> {
    let folder = tempfile::tempdir()?;
    let path = fs::canonicalize(folder.path())?;
    let recorder = Arc::new(Recorder::new(Image::default()));
    let _watch = start(&path, Arc::clone(&recorder));
    fs::write(path.join("a"), "b")?;
    fs::rename(path.join("a"), path.join("c"))?;
    fs::File::open(&path)?.sync_all()?;
    fs::remove_file(path.join("c"))?;
    let trace = recorder.trace();
    let has = |seen: fn(&Event) -> bool| trace.events().iter().any(seen);
    Ok(has(|event| matches!(event, Event::Write { .. }))
        && has(|event| matches!(event, Event::Rename { .. }))
        && has(|event| matches!(event, Event::SyncFolder { .. }))
        && has(|event| matches!(event, Event::Delete { .. })))
}

fn watched() -> MutexGuard<'static, Watched> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a path names.
enum Named {
    File(Arc<Recorder>, String),
    Folder(Arc<Recorder>),
}

/// What `path` names, if that is watched.
unsafe fn named(path: *const c_char) -> Option<Named> {
    if !IS_USED.load(Ordering::Acquire) || path.is_null() {
        return None;
    }
    // SAFETY: callers of the C library give paths that end in a zero byte.
    let folder = Path::new(unsafe { CStr::from_ptr(path) }.to_str().ok()?);
    if let Some(recorder) = watched().folders.get(folder) {
        return Some(Named::Folder(Arc::clone(recorder)));
    }
    // SAFETY: as above.
    unsafe { entry(path) }.map(|(recorder, name)| Named::File(recorder, name))
}

/// The watched folder in which `path` is a name, and the name.
unsafe fn entry(path: *const c_char) -> Option<(Arc<Recorder>, String)> {
    if !IS_USED.load(Ordering::Acquire) || path.is_null() {
        return None;
    }
    // SAFETY: callers of the C library give paths that end in a zero byte.
    let path = Path::new(unsafe { CStr::from_ptr(path) }.to_str().ok()?);
    let recorder = Arc::clone(watched().folders.get(path.parent()?)?);
    Some((recorder, path.file_name()?.to_str()?.to_owned()))
}

/// What a descriptor stands for, if that is watched.
fn open_as(descriptor: c_int) -> Option<Open> {
    if !IS_USED.load(Ordering::Acquire) {
        return None;
    }
    watched().open.get(&descriptor).cloned()
}

/// Counts a call; sets the error and returns false if it is to fail.
fn may(recorder: &Recorder, call: Call) -> bool {
    let Err(errno) = recorder.call(call) else { return true };
    let code = match errno {
        Errno::NoSpace => libc::ENOSPC,
        Errno::Io => libc::EIO,
    };
    // SAFETY: the place of the error is that of this thread.
    unsafe { *libc::__errno_location() = code };
    false
}

/// Counts a call to an open file; sets the error and returns false if it is to fail.
fn may_open(open: Option<&Open>, call: Call) -> bool {
    open.is_none_or(|open| may(open.recorder(), call))
}

/// A length in memory or in a file, from what the caller gave.
fn unsigned(number: impl TryInto<u64>) -> u64 {
    number.try_into().unwrap_or(0)
}

/// As many of `count` bytes at `offset` as end with a sector.
fn whole_sectors(offset: u64, count: size_t) -> size_t {
    let end = offset.saturating_add(count as u64);
    let whole = (end - end % SECTOR as u64).saturating_sub(offset);
    usize::try_from(whole).unwrap_or(0)
}

unsafe fn opened(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the arguments are the caller's.
    unsafe {
        let named = named(path);
        if let Some(Named::File(recorder, _)) = &named
            && !may(recorder, Call::Open)
        {
            return -1;
        }
        let descriptor = syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) as c_int;
        if descriptor >= 0
            && let Some(named) = named
        {
            let open = match named {
                Named::Folder(recorder) => Open::Folder(recorder),
                Named::File(recorder, name) => {
                    let file = recorder.open(&name);
                    if flags & libc::O_TRUNC != 0 {
                        recorder.set_len(file, 0);
                    }
                    Open::File(recorder, file)
                }
            };
            watched().open.insert(descriptor, open);
        }
        descriptor
    }
}

/// Writes at `offset`, or where the descriptor stands.
unsafe fn written(
    descriptor: c_int,
    bytes: *const c_void,
    count: size_t,
    offset: Option<off64_t>,
) -> ssize_t {
    // SAFETY: the arguments are the caller's: so many bytes are there.
    unsafe {
        let open = open_as(descriptor);
        let succeeds = may_open(open.as_ref(), Call::Write);
        let mut count = count;
        if let Some(Open::File(recorder, file)) = &open {
            let at = offset.unwrap_or_else(|| libc::lseek64(descriptor, 0, libc::SEEK_CUR));
            let at = unsigned(at);
            if !succeeds {
                // A device that fails may have done a part.
                count = whole_sectors(at, count / 2);
            }
            recorder.write(*file, at, slice::from_raw_parts(bytes.cast(), count));
        }
        let errno = *libc::__errno_location();
        let done = match offset {
            Some(offset) => syscall(libc::SYS_pwrite64, descriptor, bytes, count, offset),
            None => syscall(libc::SYS_write, descriptor, bytes, count),
        };
        if succeeds {
            return done as ssize_t;
        }
        *libc::__errno_location() = errno;
        -1
    }
}

unsafe fn synced(descriptor: c_int, number: c_long) -> c_int {
    let open = open_as(descriptor);
    let sync = || {
        // SAFETY: the call takes any number.
        let synced =
            may_open(open.as_ref(), Call::Sync) && unsafe { syscall(number, descriptor) } == 0;
        if synced { Ok(()) } else { Err(()) }
    };
    let synced = match &open {
        None => sync(),
        Some(Open::File(recorder, file)) => recorder.sync(*file, sync),
        Some(Open::Folder(recorder)) => recorder.sync_folder(sync),
    };
    if synced.is_ok() { 0 } else { -1 }
}

unsafe fn cut(descriptor: c_int, length: off64_t) -> c_int {
    let open = open_as(descriptor);
    if !may_open(open.as_ref(), Call::SetLen) {
        return -1;
    }
    if let Some(Open::File(recorder, file)) = open {
        recorder.set_len(file, unsigned(length));
    }
    // SAFETY: the call takes any numbers.
    unsafe { syscall(libc::SYS_ftruncate, descriptor, length) as c_int }
}

/// Defines functions of the C library. Where the library's takes a variable number of arguments, a fixed
/// number is taken here, which is the same to callers on these systems.
macro_rules! c_library {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block)*) => {$(
        // SAFETY: it does what the function of this name is known to do.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the arguments are the caller's.
            unsafe { $body }
        }
    )*};
}

c_library! {
    open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int { opened(path, flags, mode) }
    open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int { opened(path, flags, mode) }

    close(descriptor: c_int) -> c_int {
        if IS_USED.load(Ordering::Acquire) {
            drop(watched().open.remove(&descriptor));
        }
        syscall(libc::SYS_close, descriptor) as c_int
    }

    write(descriptor: c_int, bytes: *const c_void, count: size_t) -> ssize_t {
        written(descriptor, bytes, count, None)
    }
    pwrite(descriptor: c_int, bytes: *const c_void, count: size_t, offset: off64_t) -> ssize_t {
        written(descriptor, bytes, count, Some(offset))
    }
    pwrite64(descriptor: c_int, bytes: *const c_void, count: size_t, offset: off64_t) -> ssize_t {
        written(descriptor, bytes, count, Some(offset))
    }

    read(descriptor: c_int, bytes: *mut c_void, count: size_t) -> ssize_t {
        if !may_open(open_as(descriptor).as_ref(), Call::Read) {
            return -1;
        }
        syscall(libc::SYS_read, descriptor, bytes, count) as ssize_t
    }
    pread64(descriptor: c_int, bytes: *mut c_void, count: size_t, offset: off64_t) -> ssize_t {
        if !may_open(open_as(descriptor).as_ref(), Call::Read) {
            return -1;
        }
        syscall(libc::SYS_pread64, descriptor, bytes, count, offset) as ssize_t
    }

    fsync(descriptor: c_int) -> c_int { synced(descriptor, libc::SYS_fsync) }
    fdatasync(descriptor: c_int) -> c_int { synced(descriptor, libc::SYS_fdatasync) }

    ftruncate(descriptor: c_int, length: off64_t) -> c_int { cut(descriptor, length) }
    ftruncate64(descriptor: c_int, length: off64_t) -> c_int { cut(descriptor, length) }

    fstat64(descriptor: c_int, out: *mut stat64) -> c_int {
        if !may_open(open_as(descriptor).as_ref(), Call::Size) {
            return -1;
        }
        syscall(libc::SYS_fstat, descriptor, out) as c_int
    }

    fcntl64(descriptor: c_int, command: c_int, argument: *mut c_void) -> c_int {
        // Letting go of a lock does not fail.
        let locks = matches!(command, libc::F_SETLK | libc::F_SETLKW)
            && c_int::from((*argument.cast::<libc::flock64>()).l_type) != libc::F_UNLCK;
        if locks && !may_open(open_as(descriptor).as_ref(), Call::Lock) {
            return -1;
        }
        syscall(libc::SYS_fcntl, descriptor, command, argument) as c_int
    }

    mmap64(
        place: *mut c_void, length: size_t, protection: c_int, flags: c_int, descriptor: c_int,
        offset: off64_t
    ) -> *mut c_void {
        if let Some(open) = open_as(descriptor) {
            if !may(open.recorder(), Call::Map) {
                return libc::MAP_FAILED;
            }
            if let Open::File(recorder, file) = open
                && protection & libc::PROT_WRITE != 0
            {
                recorder.map(file);
            }
        }
        let mapped =
            syscall(libc::SYS_mmap, place, length, protection, flags, descriptor, offset);
        mapped as *mut c_void
    }

    mkdir(path: *const c_char, mode: mode_t) -> c_int {
        let entry = entry(path);
        if entry.as_ref().is_some_and(|(recorder, _)| !may(recorder, Call::MakeFolder)) {
            return -1;
        }
        let made = syscall(libc::SYS_mkdirat, libc::AT_FDCWD, path, mode) as c_int;
        if made == 0
            && let Some((recorder, name)) = entry
        {
            recorder.open(&name);
        }
        made
    }

    rmdir(path: *const c_char) -> c_int {
        let removed = syscall(libc::SYS_unlinkat, libc::AT_FDCWD, path, libc::AT_REMOVEDIR) as c_int;
        if removed == 0
            && let Some((recorder, name)) = entry(path)
        {
            recorder.delete(&name);
        }
        removed
    }

    unlink(path: *const c_char) -> c_int {
        if let Some(Named::File(recorder, name)) = named(path) {
            if !may(&recorder, Call::Delete) {
                return -1;
            }
            recorder.delete(&name);
        }
        syscall(libc::SYS_unlinkat, libc::AT_FDCWD, path, 0) as c_int
    }

    rename(from: *const c_char, to: *const c_char) -> c_int {
        if let (Some(Named::File(recorder, from)), Some(Named::File(_, to))) = (named(from), named(to)) {
            if !may(&recorder, Call::Rename) {
                return -1;
            }
            recorder.rename(&from, &to);
        }
        syscall(libc::SYS_renameat2, libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0) as c_int
    }
}

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Image;

/// A file of a [`Trace`], whatever its name: a file that is deleted and made again is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId(pub(super) usize);

/// What a store did to its files, in order, and what it told its callers meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The files that were there at the beginning, by name, synced.
    pub(super) before: Image,
    /// How many files there were, those of `before` first.
    pub(super) files: usize,
    pub(super) events: Vec<Event>,
}

/// A step of a [`Trace`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A new, empty file got a name.
    Create {
        /// The file.
        file: FileId,
        /// Its name in the folder.
        name: String,
    },
    /// A name was taken away.
    Delete {
        /// The name.
        name: String,
    },
    /// A file got another name; another file of that name has none any more.
    Rename {
        /// The file.
        file: FileId,
        /// Its name until now.
        from: String,
        /// Its name from now on.
        to: String,
    },
    /// Bytes were written, and the file grew if they end past its end.
    Write {
        /// The file.
        file: FileId,
        /// Where the first byte goes.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The file was cut, or grew by zeros.
    SetLen {
        /// The file.
        file: FileId,
        /// Its new size in bytes.
        len: u64,
    },
    /// A sync of a file returned.
    Sync {
        /// The file.
        file: FileId,
        /// The events before this one had happened when the sync began.
        until: usize,
    },
    /// A sync of a file failed.
    FailedSync {
        /// The file.
        file: FileId,
    },
    /// A sync of the folder returned: its names are put down.
    SyncFolder {
        /// The events before this one had happened when the sync began.
        until: usize,
    },
    /// A file was mapped into memory: what is in it is not seen from now on.
    Map {
        /// The file.
        file: FileId,
    },
    /// Something that callers know.
    Mark(Mark),
}

/// What the callers of a store know at a place of its [`Trace`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    /// A step of the workload was given to the store.
    Started(u64),
    /// The store said that the step is done.
    Acknowledged(u64),
    /// The store said that it could not do the step.
    Refused(u64),
}

impl Trace {
    /// A trace that begins with the files of `image`.
    pub(super) fn after(image: Image) -> Self {
        Self { files: image.files.len(), before: image, events: Vec::new() }
    }

    /// The steps.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The names at the beginning, each with its file.
    pub(super) fn first_names(&self) -> BTreeMap<String, FileId> {
        self.before.files.keys().enumerate().map(|(n, name)| (name.clone(), FileId(n))).collect()
    }

    /// Where power can be cut: before each event that does something to a file, and at the end.
    pub fn crash_points(&self) -> Vec<usize> {
        let is_io = |event: &Event| !matches!(event, Event::Mark(_));
        let before = self.events.iter().enumerate().filter(|(_, event)| is_io(event));
        before.map(|(at, _)| at).chain([self.events.len()]).collect()
    }

    /// What the callers know when the power is cut before the event `at`.
    pub fn marks(&self, at: usize) -> impl Iterator<Item = &Mark> {
        self.events[..at].iter().filter_map(|event| match event {
            Event::Mark(mark) => Some(mark),
            _ => None,
        })
    }
}

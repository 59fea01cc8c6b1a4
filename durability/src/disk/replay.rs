use std::{collections::BTreeMap, fs, io, path::Path};

use fastrand::Rng;
use serde::{Deserialize, Serialize};

use super::{
    Event, FileId, Loss, Trace,
    lot::{Lot, put},
};

/// The files of a folder, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Their content.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Image {
    /// Makes the files in `folder`.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        self.files.iter().try_for_each(|(name, bytes)| fs::write(folder.join(name), bytes))
    }
}

/// A file on the way through a trace.
#[derive(Clone, Debug, Default)]
struct File {
    /// What is certain.
    synced: Vec<u8>,
    /// Where the certain data ends; behind it there may be size without data.
    data_end: usize,
    /// What was done since.
    since: Vec<Change>,
    /// Whether its content was changed unseen.
    is_mapped: bool,
}

/// A write to a file, or a change of its size.
#[derive(Clone, Copy, Debug)]
struct Change {
    event: usize,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The next sync puts it down.
    Open,
    /// A sync failed after it: no later one puts it down.
    Forgotten,
    /// It is certain, but stands behind one that is not.
    Synced,
}

/// A place in a [`Trace`], and what of the files is certain there.
#[derive(Debug)]
pub struct Replay<'a> {
    trace: &'a Trace,
    at: usize,
    files: Vec<File>,
    names: BTreeMap<String, FileId>,
    /// The events that made or deleted a name since the folder was synced.
    names_since: Vec<usize>,
}

impl<'a> Replay<'a> {
    /// The beginning of `trace`.
    pub fn new(trace: &'a Trace) -> Self {
        let mut files = vec![File::default(); trace.files];
        for (file, bytes) in files.iter_mut().zip(trace.before.files.values()) {
            file.synced.clone_from(bytes);
            file.data_end = bytes.len();
        }
        let names = trace.first_names();
        Self { trace, at: 0, files, names, names_since: Vec::new() }
    }

    /// Goes on to the place before the event `at`, which is not before where this is.
    pub fn advance(&mut self, at: usize) {
        while self.at < at {
            self.step();
            self.at += 1;
        }
    }

    fn step(&mut self) {
        let at = self.at;
        match &self.trace.events[at] {
            Event::Create { .. } | Event::Delete { .. } | Event::Rename { .. } => {
                self.names_since.push(at);
            }
            Event::Write { file, .. } | Event::SetLen { file, .. } => {
                self.files[file.0].since.push(Change { event: at, fate: Fate::Open });
            }
            Event::Sync { file, until } => self.files[file.0].sync(*until, &self.trace.events),
            Event::FailedSync { file } => {
                let open = |change: &&mut Change| change.fate == Fate::Open;
                for change in self.files[file.0].since.iter_mut().filter(open) {
                    change.fate = Fate::Forgotten;
                }
            }
            Event::SyncFolder { until } => {
                let later = self.names_since.partition_point(|event| event < until);
                for event in self.names_since.drain(..later) {
                    rename(&mut self.names, &self.trace.events[event]);
                }
            }
            Event::Map { file } => self.files[file.0].is_mapped = true,
            Event::Mark(_) => {}
        }
    }

    /// The files that a power cut here leaves.
    pub fn image(&self, loss: Loss, random: &mut Rng) -> Image {
        let mut lot = Lot::new(loss, &self.uncertain(), &self.trace.events[..self.at], random);
        let mut names = self.names.clone();
        for event in &self.names_since {
            if lot.keeps(*event) {
                rename(&mut names, &self.trace.events[*event]);
            }
        }
        let files = names.into_iter().map(|(name, file)| {
            let File { synced, data_end, since, is_mapped } = &self.files[file.0];
            let mut bytes = synced.clone();
            for Change { event, fate } in since {
                if *fate == Fate::Synced {
                    apply(&mut bytes, &self.trace.events[*event]);
                } else {
                    lot.apply(&mut bytes, *data_end, *event);
                }
            }
            if *is_mapped {
                lot.scribble(&mut bytes);
            }
            (name, bytes)
        });
        Image { files: files.collect() }
    }

    /// The events that may or may not have happened, in order.
    fn uncertain(&self) -> Vec<usize> {
        let changes = self.files.iter().flat_map(|file| &file.since);
        let changes = changes.filter(|change| change.fate != Fate::Synced).map(|c| c.event);
        let mut events: Vec<usize> = changes.chain(self.names_since.iter().copied()).collect();
        events.sort_unstable();
        events
    }
}

impl File {
    /// What was done before the event `until` is put down, but for what was forgotten.
    fn sync(&mut self, until: usize, events: &[Event]) {
        for change in std::mem::take(&mut self.since) {
            let synced = change.event < until && change.fate != Fate::Forgotten;
            if synced && self.since.is_empty() {
                let event = &events[change.event];
                apply(&mut self.synced, event);
                if let Event::Write { offset, bytes, .. } = event {
                    self.data_end = self.data_end.max(place(*offset) + bytes.len());
                }
            } else {
                let fate = if synced { Fate::Synced } else { change.fate };
                self.since.push(Change { fate, ..change });
            }
        }
    }
}

/// Does all of what `event` does to a file.
fn apply(file: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Write { offset, bytes, .. } => put(file, place(*offset), bytes),
        Event::SetLen { len, .. } => file.resize(place(*len), 0),
        _ => {}
    }
}

/// A place in a file, which is here held in memory.
pub(super) fn place(offset: u64) -> usize {
    usize::try_from(offset).expect("a file that fits in memory")
}

fn rename(names: &mut BTreeMap<String, FileId>, event: &Event) {
    match event {
        Event::Create { file, name } => drop(names.insert(name.clone(), *file)),
        Event::Delete { name } => drop(names.remove(name)),
        Event::Rename { file, from, to } => {
            if names.get(from) == Some(file) {
                names.remove(from);
            }
            names.insert(to.clone(), *file);
        }
        _ => {}
    }
}

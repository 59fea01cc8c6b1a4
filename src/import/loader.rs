use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::PathBuf,
    thread,
};

use tokio::sync::mpsc;

use super::{
    ImportAction, ImportIssue, ImportOptions, ImportProgress, ImportReport, ImportTally,
    SourceFormat, excerpt,
    item::{Entry, Item, Kind, Place, Sink},
    judge::judge,
    lookup::Lookup,
    source,
};
use crate::{
    Batch, Episode, EpisodeId, Error, ErrorKind, MemoryBackend, Outcome, Record, RecordKind,
    Result, SessionId, Workspace, bounds::MAX_NAME_BYTES, export::session_of,
};

/// How many records, or bytes of them, are committed together.
const BATCH: usize = 1_000;
const BATCH_BYTES: usize = 8 << 20;

/// Starts a thread that reads the file and stores what it sends.
pub(super) async fn load(
    store: &dyn MemoryBackend,
    path: PathBuf,
    options: ImportOptions,
) -> Result<ImportReport> {
    // Two chunks wait at most, so that a large file is never in memory as a whole.
    let (sender, mut items) = mpsc::channel(2);
    let (from, workspace) = (options.from, options.workspace.clone());
    thread::Builder::new()
        .name("memkeep-import".to_owned())
        .spawn(move || {
            let mut sink = Sink::new(sender);
            let result = source::read(&path, from, workspace.as_ref(), &mut sink);
            sink.finish(result);
        })
        .map_err(|e| Error::new(ErrorKind::Unavailable, "no thread to read with").caused_by(e))?;

    let mut loader = Loader::new(store, options);
    while let Some(chunk) = items.recv().await {
        for item in chunk? {
            if matches!(item, Item::End) {
                return loader.finish().await;
            }
            loader.item(item).await?;
        }
    }
    Err(Error::new(ErrorKind::Unexpected, "reading the file ended before its end"))
}

/// Stores what comes from a file, and keeps account of it.
struct Loader<'s> {
    store: &'s dyn MemoryBackend,
    lookup: Lookup<'s>,
    options: ImportOptions,
    report: ImportReport,
    rows: Option<u64>,
    done: u64,
    /// Records of one kind that wait to be committed, each with what the store had under its id if
    /// that was looked up.
    pending: Vec<(Entry, Option<Record>)>,
    pending_names: HashSet<Name>,
    pending_bytes: usize,
    /// Episodes of the file whose ids are taken, and the ids that they have instead.
    renamed: HashMap<EpisodeId, EpisodeId>,
    /// Sessions whose turns and steps have no place, and why.
    lost: HashMap<SessionId, String>,
    /// The workspaces that the file names.
    workspaces: BTreeSet<Workspace>,
    /// How many records the workspace for the file's unplaced rows held before, and how many of
    /// those are the file's own.
    held: u64,
    own: u64,
    placed: bool,
}

impl<'s> Loader<'s> {
    fn new(store: &'s dyn MemoryBackend, options: ImportOptions) -> Self {
        Self {
            store,
            lookup: Lookup::new(store),
            report: ImportReport::new(SourceFormat::Jsonl, options.dry_run),
            options,
            rows: None,
            done: 0,
            pending: Vec::new(),
            pending_names: HashSet::new(),
            pending_bytes: 0,
            renamed: HashMap::new(),
            lost: HashMap::new(),
            workspaces: BTreeSet::new(),
            held: 0,
            own: 0,
            placed: false,
        }
    }

    fn target(&self) -> Workspace {
        self.options.workspace.clone().unwrap_or_default()
    }

    async fn item(&mut self, item: Item) -> Result<()> {
        match item {
            Item::Format { format, rows } => {
                self.report.format = format;
                self.rows = rows;
                if let (SourceFormat::Jsonl, Some(told)) = (format, &self.options.workspace) {
                    let told = excerpt(told.as_str());
                    self.report.remarks.push(format!(
                        "the workspace `{told}` has no effect: an export's records have their own"
                    ));
                }
                self.held = self.store.stats(&self.target().into()).await?.counts.total();
                self.progress();
            }
            Item::Entry(entry) => self.entry(*entry).await?,
            Item::Skip { place, kind, id, reason } => {
                self.done += 1;
                self.report.counts.of_mut(kind).skipped += 1;
                self.issue(ImportAction::Skipped, place, id, reason);
            }
            Item::Remark(remark) => self.report.remarks.push(remark),
            Item::End => {}
        }
        Ok(())
    }

    async fn entry(&mut self, mut entry: Entry) -> Result<()> {
        self.workspaces.insert(entry.record.workspace().clone());
        self.placed |= entry.placed;
        let other_kind = |(p, _): &(Entry, _)| p.record.kind() != entry.record.kind();
        if self.pending.last().is_some_and(other_kind) {
            self.flush().await?;
        }
        if let Record::Note(note) = &mut entry.record {
            for source in &mut note.sources {
                if let Some(id) = self.renamed.get(source) {
                    source.clone_from(id);
                }
            }
        }
        // A record that comes twice must meet itself in the store.
        if !self.pending_names.insert(name(&entry.record)) {
            self.flush().await?;
            self.lookup.refresh();
            self.pending_names.insert(name(&entry.record));
        }
        if let Some(reason) = session_of(&entry.record).and_then(|id| self.lost.get(id)) {
            let reason = format!("its session is not stored: {reason}");
            self.skip(&entry, &reason);
            return Ok(());
        }
        let renamed = self.renamed(&entry);
        // Restoring tells what is there. Where nothing is restored yet, that has to be looked up.
        let asked = self.options.dry_run || entry.append || renamed.is_some();
        let mut there = if asked { self.lookup.find(&entry.record).await? } else { None };
        // An earlier import may have renamed it for a record that is gone since.
        if there.is_none()
            && let Some(renamed) = renamed
            && let Some(same) = self.lookup.find(&renamed).await?
            && judge(&renamed, &same).same
        {
            self.rename(&mut entry, renamed, "was");
            there = Some(same);
        }
        self.pending_bytes += entry.bytes;
        self.pending.push((entry, there));
        if self.pending.len() >= BATCH || self.pending_bytes >= BATCH_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<()> {
        self.pending_names.clear();
        self.pending_bytes = 0;
        // Those that are to have another id come once more.
        while !self.pending.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            let answers = if self.options.dry_run {
                check(&pending)
            } else {
                commit(self.store, &pending).await?
            };
            for ((entry, there), answer) in pending.into_iter().zip(answers) {
                self.settle(entry, there, answer).await?;
            }
        }
        self.progress();
        Ok(())
    }

    /// The record under an id of the workspace that was told, if it can have one: ids of episodes
    /// are the source's own, and two sources may have the same.
    fn renamed(&self, entry: &Entry) -> Option<Record> {
        let Record::Episode(episode) = &entry.record else { return None };
        let may_have = entry.placed && entry.taken_id.is_none();
        let workspace = self.options.workspace.as_ref().filter(|_| may_have)?;
        let id = EpisodeId::new(format!("{workspace}:{}", episode.id));
        let fits = id.as_str().len() <= MAX_NAME_BYTES;
        fits.then(|| Record::Episode(Episode { id, ..episode.clone() }))
    }

    fn rename(&mut self, entry: &mut Entry, renamed: Record, tense: &str) {
        let (from, to) = (entry.record.id(), renamed.id());
        let reason = format!("its id {tense} taken by another episode: it is now {}", excerpt(to));
        let (from, to) = (EpisodeId::new(from), EpisodeId::new(to));
        self.renamed.insert(from.clone(), to);
        entry.repairs.push((entry.place, reason));
        entry.record = renamed;
        entry.taken_id = Some(from);
    }

    /// Notes what became of a record, which had been looked up before as `found`.
    async fn settle(
        &mut self,
        mut entry: Entry,
        mut found: Option<Record>,
        answer: Result<Option<Record>>,
    ) -> Result<()> {
        // A commit knows what the record was when it was imported, which the record itself does
        // not show.
        let decided = answer.is_ok() && !self.options.dry_run;
        let there = match answer {
            Ok(there) => there,
            Err(error) => {
                if found.is_none() && error.kind() == ErrorKind::Conflict {
                    found = self.lookup.find(&entry.record).await?;
                }
                if found.is_none() {
                    self.skip(&entry, &refused(&error));
                    return Ok(());
                }
                found
            }
        };
        let Some(there) = there else {
            self.stored(&entry);
            return Ok(());
        };
        let judgement = judge(&entry.record, &there);
        if decided || judgement.same {
            self.already_there(&entry, &there, &judgement.differing);
        } else if let Some(renamed) = self.renamed(&entry) {
            let there = self.lookup.find(&renamed).await?;
            self.rename(&mut entry, renamed, "is");
            self.pending.push((entry, there));
        } else {
            let kind = entry.record.kind();
            // Ids of turns and whatever has a workspace in the file are the same in any other.
            let remedy = if entry.placed && kind != RecordKind::Turn {
                "with a workspace of its own"
            } else {
                "into a store of its own"
            };
            let reason = format!(
                "another {} is there under this {}, in workspace `{}`: {} differ; import the file \
                 {remedy} to keep both",
                kind.as_str(),
                if kind == RecordKind::State { "key" } else { "id" },
                excerpt(there.workspace().as_str()),
                judgement.differing.join(", "),
            );
            self.skip(&entry, &reason);
        }
        Ok(())
    }

    fn stored(&mut self, entry: &Entry) {
        self.count(entry, |tally| tally.stored += 1);
        self.report.counts.tags.stored += entry.tags.len() as u64;
    }

    fn already_there(&mut self, entry: &Entry, there: &Record, differing: &[&'static str]) {
        if *there.workspace() == self.target() {
            self.own += 1;
        }
        self.count(entry, |tally| tally.already_there += 1);
        let id = entry.record.id();
        if !differing.is_empty() {
            let reason = format!("the store has another {}: left as it is", differing.join(", "));
            self.issue(ImportAction::Kept, entry.place, Some(id.to_owned()), reason);
        }
        let (Record::Turn(ours), Record::Turn(theirs)) = (&entry.record, there) else { return };
        for (place, name) in &entry.tags {
            if ours.tags.get(name) == theirs.tags.get(name) {
                self.report.counts.tags.already_there += 1;
            } else {
                let reason = "its turn is there without this tag or value: left as it is";
                self.report.counts.tags.skipped += 1;
                self.issue(ImportAction::Skipped, *place, Some(id.to_owned()), reason.to_owned());
            }
        }
    }

    fn skip(&mut self, entry: &Entry, reason: &str) {
        if let Record::Session(session) = &entry.record {
            self.lost.entry(session.id.clone()).or_insert_with(|| reason.to_owned());
        }
        self.count(entry, |tally| tally.skipped += 1);
        let id = entry.record.id();
        self.issue(ImportAction::Skipped, entry.place, Some(id.to_owned()), reason.to_owned());
        for (place, _) in &entry.tags {
            self.report.counts.tags.skipped += 1;
            let reason = "its turn is not stored".to_owned();
            self.issue(ImportAction::Skipped, *place, Some(id.to_owned()), reason);
        }
    }

    /// Counts a record, and tells its repairs.
    fn count(&mut self, entry: &Entry, count: impl FnOnce(&mut ImportTally)) {
        self.done += u64::from(entry.is_row) + entry.tags.len() as u64;
        let tally = self.report.counts.of_mut(Kind::Record(entry.record.kind()));
        count(tally);
        tally.repaired += u64::from(!entry.repairs.is_empty());
        for (place, reason) in &entry.repairs {
            let id = Some(entry.record.id().to_owned());
            self.issue(ImportAction::Repaired, *place, id, reason.clone());
        }
    }

    fn issue(&mut self, action: ImportAction, at: Place, id: Option<String>, reason: String) {
        let (table, rowid) = (at.table, at.rowid);
        self.report.issues.push(ImportIssue { action, table, rowid, id, reason });
    }

    fn progress(&mut self) {
        let progress = ImportProgress { done: self.done, total: self.rows };
        if let Some(report) = &mut self.options.progress {
            report(progress);
        }
    }

    async fn finish(mut self) -> Result<ImportReport> {
        self.flush().await?;
        if self.placed && self.held > self.own {
            let remark = format!(
                "workspace `{}` held {} records before that are not this file's",
                self.target(),
                self.held - self.own
            );
            self.report.remarks.push(remark);
        }
        for row in self.store.workspaces().await? {
            self.workspaces.insert(row.workspace);
        }
        let mut twins: BTreeMap<Workspace, Vec<String>> = BTreeMap::new();
        for workspace in &self.workspaces {
            let path = Workspace::from_path(workspace.as_str());
            twins.entry(path).or_default().push(format!("`{workspace}`"));
        }
        for names in twins.values().filter(|names| names.len() > 1) {
            let names = names.join(" and ");
            self.report.remarks.push(format!("the workspaces {names} may be meant to be one"));
        }
        Ok(self.report)
    }
}

/// What a record is found by among those of its kind.
type Name = (Option<Workspace>, String);

fn name(record: &Record) -> Name {
    let is_state = record.kind() == RecordKind::State;
    (is_state.then(|| record.workspace().clone()), record.id().to_owned())
}

/// Commits records. Returns for each what was there already, if something was, or why it was
/// refused. Other errors end it.
///
/// A refused batch is cut where the error says, and batches grow again from one record on: bad rows
/// cost a commit each, however many there are.
async fn commit(
    store: &dyn MemoryBackend,
    entries: &[(Entry, Option<Record>)],
) -> Result<Vec<Result<Option<Record>>>> {
    let mut answers: Vec<Result<Option<Record>>> = Vec::with_capacity(entries.len());
    let mut size = entries.len();
    while let Some(rest) = entries.get(answers.len()..).filter(|rest| !rest.is_empty()) {
        let size_now = size.clamp(1, rest.len());
        let batch: Batch = rest.iter().take(size_now).map(|(entry, _)| entry.op()).collect();
        match store.commit(batch).await {
            Ok(receipt) => {
                let there = |(outcome, (_, found)): (_, &(_, Option<Record>))| match outcome {
                    Outcome::Restored { created: true, .. } => Ok(None),
                    Outcome::Restored { record, .. } => Ok(Some(record)),
                    // An appended record does not tell.
                    _ => Ok(found.clone()),
                };
                answers.extend(receipt.outcomes.into_iter().zip(rest).map(there));
                size = size_now * 2;
            }
            Err(error) if is_refusal(&error) => {
                let at = error.get("op").and_then(|op| op.parse::<usize>().ok());
                match at.filter(|at| *at < size_now) {
                    Some(at) if at > 0 => size = at,
                    None if size_now > 1 => size = size_now / 2,
                    _ => {
                        answers.push(Err(error));
                        size = 1;
                    }
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(answers)
}

/// Checks records against the bounds, as a commit does first of all.
fn check(entries: &[(Entry, Option<Record>)]) -> Vec<Result<Option<Record>>> {
    let check = |(entry, found): &(Entry, Option<Record>)| {
        Batch::from(entry.op()).prepare().map(|_| found.clone())
    };
    entries.iter().map(check).collect()
}

fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::NotFound | ErrorKind::Conflict)
}

/// Why the store refused a record, without the batch's part in it.
pub(super) fn refused(error: &Error) -> String {
    let context = error.context().iter().filter(|(name, _)| *name != "op" && *name != "field");
    let context: Vec<_> =
        context.map(|(name, value)| format!("{name}: {}", excerpt(value))).collect();
    let open =
        if context.is_empty() { String::new() } else { format!(" ({})", context.join(", ")) };
    format!("{}: {}{open}", error.kind(), error.message())
}

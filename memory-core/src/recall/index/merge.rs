use std::{cmp::Ordering, mem, ops::Range, sync::Arc};

use super::{
    blobs::Blobs,
    cursor,
    document::is_uncounted,
    page::Kind,
    part::{Part, Walk},
    part_writer::PartWriter,
    places::{Place, Run},
    postings::Posting,
    root::Root,
    segment::{Blob, Pages, Segment, Sign},
    terms::Terms,
    values::Values,
};
use crate::{RecordKind, Result};

/// The new ordinal of a document that does not come along.
const DROPPED: u32 = u32::MAX;

/// How many documents or postings are handled in a step: some milliseconds' work.
const STEP: usize = 1 << 15;

/// What a term costs beside its postings, counted in postings.
const TERM: usize = 8;

/// Several adjacent segments on their way to becoming one.
///
/// Of each document only the last word counts: it stays if that is an addition. A removal stays if it
/// comes before any addition, since then it is of a document in an older segment. Segments never
/// change, so the work is done in steps, with any number of commits between them.
pub(super) struct Merge {
    /// Oldest first.
    pub(super) roots: Vec<Arc<Root>>,
    /// Whether nothing is older: then there is nothing left to remove.
    is_oldest: bool,
    /// Whether documents of newer segments mostly come before those of older ones.
    is_newest_first: bool,
    pages: Pages,
    /// What has become of each document: by segment and sign.
    ordinals: Vec<[Vec<u32>; 2]>,
    writers: [PartWriter; 2],
    stage: Stage,
    pub(super) has_begun: bool,
}

enum Stage {
    Documents(Documents),
    Terms(Sign, Vec<Walk>),
    Done,
}

/// How far the documents were read.
#[derive(Default)]
struct Documents {
    /// Through the workspaces: by segment and sign. None before the first.
    walks: Vec<[Walk; 2]>,
    workspace: String,
    /// What is left of it: by segment and sign.
    left: Vec<[Left; 2]>,
    /// How many documents stay: by sign.
    kept: [u32; 2],
}

/// The documents of a workspace in a part that were not looked at yet.
#[derive(Default)]
struct Left {
    ordinals: Range<u32>,
    /// One that was read; mostly that of the first.
    run: Option<Run>,
}

impl Left {
    /// The place of the first.
    fn place(&mut self, part: &Part<'_, '_>) -> Result<Option<Place>> {
        let first = self.ordinals.start;
        if self.ordinals.is_empty() {
            return Ok(None);
        }
        if let Some(run) = self.run.as_ref().filter(|run| run.ordinals.contains(&first)) {
            return Ok(Some(run.place(first)));
        }
        let run = self.run.insert(part.run(first)?);
        Ok(Some(run.place(first)))
    }
}

type Parts<'s, 'b> = Vec<[Part<'s, 'b>; 2]>;

impl Merge {
    pub(super) fn new(roots: Vec<Arc<Root>>, is_oldest: bool, kind: RecordKind) -> Self {
        Self {
            ordinals: roots.iter().map(|_| [Vec::new(), Vec::new()]).collect(),
            roots,
            is_oldest,
            is_newest_first: kind != RecordKind::Turn,
            pages: Pages::new(),
            writers: Sign::BOTH.map(|sign| PartWriter::new(sign, kind)),
            stage: Stage::Documents(Documents::default()),
            has_begun: false,
        }
    }

    /// The name of the segment that is being written.
    pub(super) fn name(&self) -> [u8; 16] {
        self.pages.name
    }

    /// Does a bit of the work. Returns whether that was the last, and [`end`](Self::end) is next.
    pub(super) fn step(&mut self, blobs: &dyn Blobs) -> Result<bool> {
        self.has_begun = true;
        self.stage = match mem::replace(&mut self.stage, Stage::Done) {
            Stage::Documents(state) => self.documents(blobs, state)?,
            Stage::Terms(sign, dictionaries) => self.terms(blobs, sign, dictionaries)?,
            Stage::Done => Stage::Done,
        };
        Ok(matches!(self.stage, Stage::Done))
    }

    /// The pages that are to be written by now.
    pub(super) fn take_pages(&mut self) -> Vec<Blob> {
        self.pages.take()
    }

    /// The last pages, and the new segment's root; none if nothing stays.
    pub(super) fn end(self) -> (Vec<Blob>, Option<Root>) {
        let Self { roots, mut pages, writers: [adds, removes], .. } = self;
        let totals = [adds.end(&mut pages), removes.end(&mut pages)];
        let stays = totals.iter().any(|totals| totals.documents > 0);
        let newest = roots.last().filter(|_| stays);
        (pages.take(), newest.map(|newest| pages.into_root(newest.age, totals)))
    }

    fn documents(&mut self, blobs: &dyn Blobs, mut state: Documents) -> Result<Stage> {
        let mut kept = Vec::new();
        let mut is_over = false;
        {
            let segments = open(&self.roots, blobs);
            let parts = Part::all(&segments);
            for _ in 0..STEP {
                if let Some(place) = state.next_place(&parts)? {
                    state.decide(&parts, place, self.is_oldest, &mut self.ordinals, &mut kept)?;
                } else if !state.next_workspace(&parts)? {
                    is_over = true;
                    break;
                }
            }
        }
        for (sign, workspace, values) in kept {
            let writer = &mut self.writers[sign as usize];
            writer.document(&mut self.pages, &workspace, values);
        }
        if !is_over {
            return Ok(Stage::Documents(state));
        }
        for writer in &mut self.writers {
            writer.end_documents(&mut self.pages);
        }
        Ok(Stage::Terms(Sign::Adds, Vec::new()))
    }

    /// `walks` go through the dictionaries; there are none before the first term.
    fn terms(&mut self, blobs: &dyn Blobs, sign: Sign, mut walks: Vec<Walk>) -> Result<Stage> {
        let mut merged = Terms::default();
        let mut is_over = false;
        {
            let segments = open(&self.roots, blobs);
            let parts: Vec<_> = segments.iter().map(|s| Part::new(s, sign)).collect();
            if walks.is_empty() {
                for part in &parts {
                    let mut walk = Walk::new(Kind::Dictionary);
                    walk.advance(part)?;
                    walks.push(walk);
                }
            }
            let (mut work, mut least) = (0, Vec::new());
            let (mut term, mut postings) = (Vec::new(), Vec::new());
            while work < STEP {
                find_least(&walks, &mut least);
                let Some(key) = least.first().and_then(|at| walks[*at].key()) else {
                    is_over = true;
                    break;
                };
                term.clear();
                term.extend_from_slice(key);
                let (is_uncounted, start) = (is_uncounted(&term), merged.postings.len());
                if self.is_newest_first {
                    least.reverse();
                }
                for at in &least {
                    let (walk, part) = (&mut walks[*at], &parts[*at]);
                    postings.clear();
                    if let Some(row) = walk.row() {
                        cursor::all(part, row, &mut postings)?;
                    }
                    work += postings.len();
                    let ordinals = &self.ordinals[*at][sign as usize];
                    for posting in &postings {
                        let ordinal = ordinals.get(posting.ordinal as usize);
                        let ordinal = *ordinal.ok_or_else(|| part.segment.damaged())?;
                        // They may be those of a term, which is counted.
                        let Posting { count, label, .. } = *posting;
                        let (count, label) = if is_uncounted { (1, false) } else { (count, label) };
                        if ordinal != DROPPED {
                            merged.postings.push(Posting { ordinal, count, label });
                        }
                    }
                    walk.advance(part)?;
                }
                work += TERM;
                // Stable, since it makes use of runs that are sorted: those of one segment are.
                merged.postings[start..].sort_by_key(|posting| posting.ordinal);
                merged.push(&term, merged.postings.len());
            }
        }
        let writer = &mut self.writers[sign as usize];
        for (term, postings) in merged.iter().filter(|(_, postings)| !postings.is_empty()) {
            writer.term(&mut self.pages, term, postings);
        }
        Ok(match (is_over, sign) {
            (false, _) => Stage::Terms(sign, walks),
            (true, Sign::Adds) => Stage::Terms(Sign::Removes, Vec::new()),
            (true, Sign::Removes) => Stage::Done,
        })
    }
}

/// Finds the walks that are at the least key; none if all are at the end.
fn find_least(walks: &[Walk], least: &mut Vec<usize>) {
    least.clear();
    let mut best: Option<(u64, &[u8])> = None;
    for (at, walk) in walks.iter().enumerate() {
        let Some(key) = walk.key() else { continue };
        let next = (walk.beginning(), key);
        let order = best.map_or(Ordering::Less, |best| next.cmp(&best));
        if order == Ordering::Less {
            least.clear();
            best = Some(next);
        }
        if order != Ordering::Greater {
            least.push(at);
        }
    }
}

fn open<'b>(roots: &[Arc<Root>], blobs: &'b dyn Blobs) -> Vec<Segment<'b>> {
    roots.iter().map(|root| Segment::new(blobs, root.clone(), None)).collect()
}

impl Documents {
    /// Goes on to the next workspace that has documents; false if there is none.
    fn next_workspace(&mut self, parts: &Parts<'_, '_>) -> Result<bool> {
        if self.walks.is_empty() {
            for parts in parts {
                let mut walks = Sign::BOTH.map(|_| Walk::new(Kind::Workspaces));
                for (walk, part) in walks.iter_mut().zip(parts) {
                    walk.advance(part)?;
                }
                self.walks.push(walks);
            }
        }
        let Some(next) = self.walks.iter().flatten().filter_map(Walk::key).min() else {
            return Ok(false);
        };
        let next = String::from_utf8(next.to_vec());
        self.workspace = next.map_err(|_| parts[0][0].segment.damaged())?;
        self.left.clear();
        for (walks, parts) in self.walks.iter_mut().zip(parts) {
            let mut left = [Left::default(), Left::default()];
            for ((walk, part), left) in walks.iter_mut().zip(parts).zip(&mut left) {
                if let Some(row) = walk.row()
                    && walk.key() == Some(self.workspace.as_bytes())
                {
                    left.ordinals = part.stretch(row)?.ordinals;
                    walk.advance(part)?;
                }
            }
            self.left.push(left);
        }
        Ok(true)
    }

    /// The least place that is left in the workspace.
    fn next_place(&mut self, parts: &Parts<'_, '_>) -> Result<Option<Place>> {
        let mut least: Option<Place> = None;
        for (part, left) in parts.iter().flatten().zip(self.left.iter_mut().flatten()) {
            if let Some(place) = left.place(part)? {
                least = Some(least.map_or(place, |least| least.min(place)));
            }
        }
        Ok(least)
    }

    /// Decides what becomes of the document at `place`.
    fn decide(
        &mut self,
        parts: &Parts<'_, '_>,
        place: Place,
        is_oldest: bool,
        ordinals: &mut [[Vec<u32>; 2]],
        kept: &mut Vec<(Sign, String, Values)>,
    ) -> Result<()> {
        // Within a segment the removal comes first.
        let order = [Sign::Removes, Sign::Adds];
        let mut events = Vec::new();
        for (at, (parts, left)) in parts.iter().zip(&mut self.left).enumerate() {
            for sign in order {
                let (part, left) = (&parts[sign as usize], &mut left[sign as usize]);
                if left.place(part)? == Some(place) {
                    events.push((at, sign, part.document(left.ordinals.start, place)?));
                    left.ordinals.start += 1;
                }
            }
        }
        let last = events.len().saturating_sub(1);
        for (event, (at, sign, values)) in events.into_iter().enumerate() {
            let stays = match sign {
                Sign::Removes => event == 0 && !is_oldest,
                Sign::Adds => event == last,
            };
            let counter = &mut self.kept[sign as usize];
            ordinals[at][sign as usize].push(if stays { *counter } else { DROPPED });
            if stays {
                *counter += 1;
                kept.push((sign, self.workspace.clone(), values));
            }
        }
        Ok(())
    }
}

use std::ops::Range;

use super::{
    ahead,
    blobs::Blobs,
    cache::Cache,
    context, cursor,
    document::{has_tokens, term_key, token_key},
    formula::Formula,
    max_score::collect,
    part::{Part, Stretch},
    query_term::QueryTerm,
    segment::{Segment, Sign},
    top::{Judge, Reader, Spot, Top},
};
use crate::{
    RecallQuery, RecordKind, Result, Timestamp, Workspace,
    recall::{
        Analyzer, Ranked, Scorer, overlap_tokens,
        ranked::{Entry, first_k},
        statistics::{Statistics, Weights},
    },
};

/// What is asked of an index.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    /// Any text.
    pub text: &'q str,
    /// How documents are scored. [`Scorer::Overlap`] is for episodes.
    pub scorer: Scorer,
    /// At most so many are found.
    pub k: usize,
    /// The one workspace that is searched, or all.
    pub workspace: Option<&'q str>,
    /// Only documents created at this instant or later, in microseconds since the epoch.
    pub since: Option<i64>,
    /// Only documents created before this instant.
    pub until: Option<i64>,
    /// Only open ones, or only closed ones.
    pub open: Option<bool>,
    /// Only turns of this role.
    pub role: Option<&'q str>,
    /// Only turns of the session of this number.
    pub session: Option<u64>,
}

impl<'q> Question<'q> {
    /// What `query` asks of the index of `kind`; `session` is the number of the session that it names, if
    /// it names one. None if the index has not what is asked for: then all records are to be ranked.
    #[must_use]
    pub fn new(query: &'q RecallQuery, kind: RecordKind, session: Option<u64>) -> Option<Self> {
        let scorer = query.scorer_for(kind);
        if scorer == Scorer::Overlap && !has_tokens(kind) {
            return None;
        }
        // A filter of another kind of record is none.
        let is_turn = kind == RecordKind::Turn;
        Some(Self {
            text: &query.text,
            scorer,
            k: query.k,
            workspace: query.scope.workspace().map(Workspace::as_str),
            since: query.since.map(Timestamp::as_micros),
            until: query.until.map(Timestamp::as_micros),
            open: query.open.filter(|_| kind == RecordKind::Episode),
            role: query.role.as_deref().filter(|_| is_turn),
            session: session.filter(|_| is_turn),
        })
    }

    /// Whether `query` asks for something that no field of a question tells, only the record.
    #[must_use]
    pub fn lacks(query: &RecallQuery, kind: RecordKind) -> bool {
        query.tag.is_some() && kind == RecordKind::Turn
            || query.source.is_some() && kind == RecordKind::Note
    }
}

/// What else a document must fulfil, by the number of its record.
pub type Eligible<'e> = dyn FnMut(u64) -> Result<bool> + 'e;

/// The numbers of the records that answer `question` best, and their scores: those that
/// [`Ranker`](crate::recall::Ranker) finds. What is read of `blobs` is kept in `cache`; `newest` is an
/// index of records that are not there yet; `eligible` decides what no field of the question does, if
/// anything does.
pub fn search(
    blobs: &dyn Blobs,
    cache: &Cache,
    newest: &dyn Blobs,
    kind: RecordKind,
    question: &Question<'_>,
    analyzer: &Analyzer,
    eligible: Option<&mut Eligible<'_>>,
) -> Result<Vec<Ranked<u64>>> {
    let terms: Vec<Vec<u8>> = match question.scorer {
        Scorer::Overlap => overlap_tokens(question.text).iter().map(|t| token_key(t)).collect(),
        Scorer::Bm25 | Scorer::Context => {
            analyzer.query_terms(question.text).iter().map(|t| term_key(t)).collect()
        }
    };
    if question.k == 0 || terms.is_empty() {
        return Ok(Vec::new());
    }
    let segments = Segment::all(blobs, cache, newest)?;
    let parts = Part::all(&segments);
    ahead::terms(&parts, question.workspace, &terms)?;
    let searched = Searched::new(&parts, &terms, question.workspace)?;
    searched.tell(question, question.scorer == Scorer::Context && kind == RecordKind::Turn)?;
    let mut filter = Filter { present: Present(&searched), question, eligible };
    let formula = match question.scorer {
        Scorer::Overlap => Formula::Overlap,
        Scorer::Context if kind == RecordKind::Turn => {
            return context::search(&searched, searched.weights()?, question.k, filter);
        }
        // What has no session has no context.
        Scorer::Bm25 | Scorer::Context => Formula::Bm25(searched.weights()?),
    };
    Ok(in_order(searched.best(&formula, question.k, &mut filter)?))
}

/// The numbers of the records that were found, in order.
pub(super) fn in_order(found: Vec<Entry<Spot>>) -> Vec<Ranked<u64>> {
    let number = |Entry { score, created_at, position, .. }| Entry {
        key: position,
        score,
        created_at,
        position,
    };
    first_k(found.into_iter().map(number).collect(), usize::MAX)
}

/// The documents of the searched workspaces.
pub(super) struct Searched<'p, 's, 'b> {
    pub(super) parts: &'p [[Part<'s, 'b>; 2]],
    /// In byte order.
    pub(super) terms: &'p [Vec<u8>],
    /// What is searched: by segment and sign.
    stretches: Vec<[Stretch; 2]>,
    /// By segment, the terms that its added documents have.
    found: Vec<Vec<QueryTerm>>,
}

impl<'p, 's, 'b> Searched<'p, 's, 'b> {
    fn new(
        parts: &'p [[Part<'s, 'b>; 2]],
        terms: &'p [Vec<u8>],
        workspace: Option<&str>,
    ) -> Result<Self> {
        let mut searched = Self { parts, terms, stretches: Vec::new(), found: Vec::new() };
        for [adds, removes] in parts {
            searched.stretches.push([adds.within(workspace)?, removes.within(workspace)?]);
            let is_searched = !searched.stretch(searched.found.len()).ordinals.is_empty();
            let found = if is_searched { find(adds, terms)? } else { Vec::new() };
            searched.found.push(found);
        }
        Ok(searched)
    }

    /// The terms that the added documents of a segment have.
    pub(super) fn found(&self, segment: usize) -> &[QueryTerm] {
        &self.found[segment]
    }

    /// The searched documents of a segment.
    pub(super) fn stretch(&self, segment: usize) -> &Stretch {
        &self.stretches[segment][Sign::Adds as usize]
    }

    pub(super) fn adds(&self, segment: usize) -> &'p Part<'s, 'b> {
        &self.parts[segment][Sign::Adds as usize]
    }

    /// Tells what will be read whichever documents are the best.
    fn tell(&self, question: &Question<'_>, has_context: bool) -> Result<()> {
        let has_lengths = question.scorer != Scorer::Overlap;
        for (segment, ([adds, removes], [added, removed])) in
            self.parts.iter().zip(&self.stretches).enumerate()
        {
            ahead::postings(adds, added, self.found(segment), has_lengths);
            if has_lengths && removes.is_far() && !removed.ordinals.is_empty() {
                ahead::postings(removes, removed, &find(removes, self.terms)?, false);
            }
            if has_context || question.session.is_some() {
                ahead::places(adds, added, has_context)?;
            }
            // Neighbours are looked for only once the best are known.
            if has_context && self.may_miss(segment) {
                ahead::values(adds, added);
            }
        }
        Ok(())
    }

    fn weights(&self) -> Result<Weights> {
        let mut statistics = Statistics::new(self.terms.len());
        let mut removed = Statistics::new(self.terms.len());
        for (segment, ([adds, removes], stretches)) in
            self.parts.iter().zip(&self.stretches).enumerate()
        {
            let [added_stretch, removed_stretch] = stretches;
            tally(adds, added_stretch, self.found(segment), &mut statistics)?;
            if !removed_stretch.ordinals.is_empty() {
                tally(removes, removed_stretch, &find(removes, self.terms)?, &mut removed)?;
            }
        }
        statistics.subtract(&removed);
        Ok(statistics.weights())
    }

    /// The `k` best, in no particular order.
    pub(super) fn best(
        &self,
        formula: &Formula,
        k: usize,
        judge: &mut dyn Judge,
    ) -> Result<Vec<Entry<Spot>>> {
        let mut top = Top::new(k, self);
        self.collect(formula, judge, &mut top)?;
        top.into_entries()
    }

    /// Where the `k` best are, and their scores, in no particular order.
    pub(super) fn best_spots(
        &self,
        formula: &Formula,
        k: usize,
        judge: &mut dyn Judge,
    ) -> Result<Vec<(Spot, f64)>> {
        let mut top = Top::new(k, self);
        self.collect(formula, judge, &mut top)?;
        top.into_spots()
    }

    fn collect(&self, formula: &Formula, judge: &mut dyn Judge, top: &mut Top<'_>) -> Result<()> {
        // The newest first: among equals they win.
        for segment in (0..self.parts.len()).rev() {
            let stretch = self.stretch(segment);
            if !stretch.ordinals.is_empty() {
                let part = (segment, self.adds(segment));
                collect(part, stretch, self.found(segment), formula, judge, top)?;
            }
        }
        Ok(())
    }

    /// Whether newer segments remove any documents.
    pub(super) fn may_miss(&self, segment: usize) -> bool {
        self.parts[segment + 1..].iter().any(|[_, removes]| !removes.is_empty())
    }

    /// Whether no newer segment removes the document `number` of `segment`.
    pub(super) fn is_there(&self, segment: usize, number: u64) -> Result<bool> {
        is_there(self.parts, segment, number)
    }
}

impl Reader for Searched<'_, '_, '_> {
    fn read(&self, key: Spot, score: f64) -> Result<Entry<Spot>> {
        let (values, row) = self.adds(key.0).values(key.1)?;
        let (created_at, position) = (values.created_at(row), values.number(row));
        Ok(Entry { key, score, created_at, position })
    }

    fn want(&self, (segment, ordinal): Spot) -> bool {
        self.adds(segment).want_values(ordinal)
    }

    fn is_far(&self) -> bool {
        self.parts.iter().flatten().any(Part::is_far)
    }

    fn hurries(&self) -> bool {
        self.parts.iter().any(|[adds, _]| adds.segment.hurries())
    }
}

/// Whether no segment newer than `segment` removes the document `number` of it.
pub(super) fn is_there(parts: &[[Part<'_, '_>; 2]], segment: usize, number: u64) -> Result<bool> {
    for [_, removes] in &parts[segment + 1..] {
        if removes.directory(number)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Which of `terms` a part has.
fn find(part: &Part<'_, '_>, terms: &[Vec<u8>]) -> Result<Vec<QueryTerm>> {
    let mut found = Vec::new();
    for (at, term) in terms.iter().enumerate() {
        found.extend(part.term(term)?.map(|term| QueryTerm::new(at, term)));
    }
    Ok(found)
}

/// Adds what is searched of a part to `statistics`.
fn tally(
    part: &Part<'_, '_>,
    stretch: &Stretch,
    found: &[QueryTerm],
    statistics: &mut Statistics,
) -> Result<()> {
    let Range { start, end } = stretch.ordinals;
    statistics.add_many(u64::from(end - start), stretch.length);
    for term in found {
        let (postings, labels) = cursor::count(part, term, &stretch.ordinals)?;
        statistics.add_term(term.position, postings, labels);
    }
    Ok(())
}

/// Passes every document that is there.
pub(super) struct Present<'f>(pub(super) &'f Searched<'f, 'f, 'f>);

impl Judge for Present<'_> {
    fn is_strict(&self, segment: usize) -> bool {
        self.0.may_miss(segment)
    }

    fn passes(&self, part: &Part<'_, '_>, ordinal: u32) -> Result<Option<bool>> {
        Ok(part.want_values(ordinal).then_some(true))
    }

    fn is_eligible(&mut self, (segment, _): Spot, number: u64) -> Result<bool> {
        self.0.is_there(segment, number)
    }
}

/// Passes those of them that the question asks for.
pub(super) struct Filter<'f, 'e> {
    present: Present<'f>,
    question: &'f Question<'f>,
    eligible: Option<&'f mut Eligible<'e>>,
}

impl Filter<'_, '_> {
    /// Whether it may refuse a document that is there.
    pub(super) fn refuses(&self) -> bool {
        let Question { since, until, open, role, session, .. } = self.question;
        let has_times = since.is_some() || until.is_some();
        let has_fields = has_times || open.is_some() || role.is_some() || session.is_some();
        has_fields || self.eligible.is_some()
    }
}

impl Judge for Filter<'_, '_> {
    fn is_strict(&self, segment: usize) -> bool {
        self.refuses() || self.present.is_strict(segment)
    }

    fn passes(&self, part: &Part<'_, '_>, ordinal: u32) -> Result<Option<bool>> {
        let question = self.question;
        if let Some(session) = question.session {
            if !part.want_place(ordinal) {
                return Ok(None);
            }
            if part.run(ordinal)?.place(ordinal).0 != session {
                return Ok(Some(false));
            }
        }
        if !part.want_values(ordinal) {
            return Ok(None);
        }
        let (values, row) = part.values(ordinal)?;
        let created_at = values.created_at(row);
        let passes = question.since.is_none_or(|since| created_at >= since)
            && question.until.is_none_or(|until| created_at < until)
            && question.open.is_none_or(|open| values.open(row) == open)
            && question.role.is_none_or(|role| values.role(row) == role);
        Ok(Some(passes))
    }

    fn is_eligible(&mut self, spot: Spot, number: u64) -> Result<bool> {
        if !self.present.is_eligible(spot, number)? {
            return Ok(false);
        }
        self.eligible.as_mut().map_or(Ok(true), |eligible| eligible(number))
    }
}

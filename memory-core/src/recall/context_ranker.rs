use std::collections::HashMap;
use std::ops::Range;

use super::analyzer::Analyzer;
use super::context::{self, CANDIDATES, REACH, Turn};
use super::document::Document;
use super::ranked::{Entry, Ranked, first_k};
use super::speech::asks;
use super::tally::{Counted, Tally};

/// [`Scorer::Context`](super::Scorer::Context): holds a fixed-size record of every turn, since each
/// may turn out to be a neighbour of a match, and the term counts of the matches.
pub(super) struct ContextRanker<K> {
    k: usize,
    tally: Tally,
    /// Session ids in the order of their appearance.
    sessions: HashMap<Box<str>, u64>,
    records: Vec<Record<K>>,
}

struct Record<K> {
    key: K,
    created_at: i64,
    position: u64,
    length: u64,
    place: Option<(u64, u64)>,
    asks: bool,
    eligible: bool,
    /// Where its counts are.
    counts: Range<usize>,
}

impl<K> ContextRanker<K> {
    pub(super) fn new(query: &str, k: usize, analyzer: &Analyzer) -> Self {
        let tally = Tally::new(query, analyzer);
        Self { k, tally, sessions: HashMap::new(), records: Vec::new() }
    }

    pub(super) fn add(&mut self, key: K, document: &Document<'_>) {
        if self.k == 0 || self.tally.is_empty() {
            return;
        }
        let Counted { position, length, counts } = self.tally.add(document);
        let place = document.session.map(|(id, turn)| (self.session(id), turn));
        if !counts.is_empty() || place.is_some() {
            self.records.push(Record {
                key,
                created_at: document.created_at,
                position,
                length,
                place,
                asks: asks(document.text),
                eligible: document.eligible,
                counts,
            });
        }
    }

    fn session(&mut self, id: &str) -> u64 {
        if let Some(number) = self.sessions.get(id) {
            return *number;
        }
        let number = self.sessions.len() as u64;
        self.sessions.insert(id.into(), number);
        number
    }

    pub(super) fn finish(self) -> Vec<Ranked<K>> {
        let weights = self.tally.statistics.weights();
        let counts_of = |record: &Record<K>| &self.tally.counts[record.counts.clone()];
        let entry = |at: usize, score: f64| Entry {
            key: at,
            score,
            created_at: self.records[at].created_at,
            position: self.records[at].position,
        };
        let matches = (0..self.records.len())
            .filter(|at| !counts_of(&self.records[*at]).is_empty())
            .map(|at| {
                let record = &self.records[at];
                let counts = counts_of(record).iter();
                entry(at, counts.map(|c| weights.weight(*c, record.length)).sum())
            })
            .collect();
        let matches = first_k(matches, usize::MAX);
        let (candidates, others) = matches.split_at(matches.len().min(CANDIDATES));

        let (members, turns) = self.members(candidates);
        let scores =
            context::scores(&turns, |turn| counts_of(&self.records[members[turn]]), &weights);
        let mut best: Vec<Entry<usize>> =
            members.iter().zip(scores).map(|(at, score)| entry(*at, score)).collect();
        best.extend(
            candidates
                .iter()
                .filter(|c| self.records[c.key].place.is_none())
                .map(|c| entry(c.key, c.score)),
        );
        let mut ranked = first_k(best, usize::MAX);

        // Matches beyond the candidates follow in the order of BM25, none above what was re-ranked.
        let mut listed = vec![false; self.records.len()];
        for r in &ranked {
            listed[r.key] = true;
        }
        let last = ranked.last().map_or(f64::INFINITY, |r| r.score);
        ranked.extend(
            others
                .iter()
                .filter(|other| !listed[other.key])
                .map(|other| Ranked { key: other.key, score: other.score.min(last) }),
        );

        let mut keys: Vec<Option<K>> =
            self.records.into_iter().map(|record| record.eligible.then_some(record.key)).collect();
        ranked
            .into_iter()
            .filter_map(|Ranked { key: at, score }| {
                keys[at].take().map(|key| Ranked { key, score })
            })
            .take(self.k)
            .collect()
    }

    /// The candidates that are turns, with the turns within [`REACH`] of them, by place.
    fn members(&self, candidates: &[Ranked<usize>]) -> (Vec<usize>, Vec<Turn>) {
        let mut best: HashMap<u64, f64> = HashMap::new();
        let mut is_candidate = vec![false; self.records.len()];
        for Ranked { key: at, score } in candidates {
            if let Some((session, _)) = self.records[*at].place {
                let best = best.entry(session).or_default();
                *best = best.max(*score);
                is_candidate[*at] = true;
            }
        }
        let mut turns: Vec<(Turn, usize)> = (0..)
            .zip(&self.records)
            .filter_map(|(at, Record { place, length, asks, .. })| {
                let place = (*place)?;
                let best = *best.get(&place.0)?;
                Some((Turn { place, length: *length, asks: *asks, best }, at))
            })
            .collect();
        turns.sort_unstable_by_key(|(turn, _)| turn.place);
        let near =
            |a: &Turn, b: &Turn| a.place.0 == b.place.0 && a.place.1.abs_diff(b.place.1) <= REACH;
        (0..turns.len())
            .filter(|i| {
                turns[i.saturating_sub(2)..turns.len().min(i + 3)]
                    .iter()
                    .any(|(other, at)| is_candidate[*at] && near(other, &turns[*i].0))
            })
            .map(|i| (turns[i].1, turns[i].0))
            .unzip()
    }
}

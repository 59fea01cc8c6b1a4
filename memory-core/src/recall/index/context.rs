//! [`Scorer::Context`](crate::recall::Scorer::Context) over the index.

use std::{
    collections::{BTreeSet, BinaryHeap},
    ops::Range,
};

use super::{
    cursor::Cursor,
    formula::Formula,
    part::Part,
    postings::Posting,
    search::{Filter, Present, Searched, in_order},
    top::{Judge, Spot},
};
use crate::{
    Result,
    recall::{
        Ranked,
        context::{CANDIDATES, REACH, Turn, scores},
        ranked::Entry,
        statistics::Weights,
        term_counter::TermCount,
    },
};

/// Session and index of a turn.
type Place = (u64, u64);

/// A turn that is ranked anew.
struct Member {
    place: Place,
    spot: Spot,
    number: u64,
    created_at: i64,
    length: u64,
    asks: bool,
    /// Where its query terms are among all that were counted.
    counts: Range<usize>,
}

pub(super) fn search(
    searched: &Searched<'_, '_, '_>,
    weights: Weights,
    k: usize,
    mut filter: Filter<'_, '_>,
) -> Result<Vec<Ranked<u64>>> {
    let formula = Formula::Bm25(weights);
    let candidates = searched.best(&formula, CANDIDATES, &mut Present(searched))?;
    let mut members = members(searched, &candidates)?;
    let counts = count(searched, &mut members)?;
    members.sort_unstable_by_key(|member| member.place);
    let mut ranked = rank(&members, &counts, &formula);

    let mut found = Vec::new();
    let last = ranked.iter().map(|entry| entry.score).fold(f64::INFINITY, f64::min);
    while found.len() < k
        && let Some(Entry { key: spot, score, position: number, .. }) = ranked.pop()
    {
        let (values, row) = searched.adds(spot.0).values(spot.1)?;
        if filter.passes(values, row) && filter.is_eligible(spot, number)? {
            found.push(Ranked { key: number, score });
        }
    }
    if found.len() == k || candidates.len() < CANDIDATES {
        return Ok(found);
    }
    // Matches beyond the candidates follow in the order of BM25, none above what was ranked anew.
    let listed: BTreeSet<u64> = members.iter().map(|member| member.number).collect();
    let missing = (k - found.len()).saturating_add(listed.len());
    for Ranked { key, score } in in_order(searched.best(&formula, missing, &mut filter)?) {
        if found.len() < k && !listed.contains(&key) {
            found.push(Ranked { key, score: score.min(last) });
        }
    }
    Ok(found)
}

/// The candidates, and the turns around them; by segment, in order.
fn members(searched: &Searched<'_, '_, '_>, candidates: &[Entry<Spot>]) -> Result<Vec<Member>> {
    let mut spots = Vec::with_capacity(candidates.len() * 5);
    let mut places: Vec<(Place, usize)> = Vec::with_capacity(candidates.len());
    for Entry { key: (segment, ordinal), .. } in candidates {
        let part = searched.adds(*segment);
        let (values, row) = part.values(*ordinal)?;
        let place = values.place(row);
        places.push((place, *segment));
        // In a segment the turns of a session are side by side.
        let reach = u32::try_from(REACH).unwrap_or(u32::MAX);
        let last = ordinal.saturating_add(reach).min(part.totals().documents - 1);
        for near in ordinal.saturating_sub(reach)..=last {
            if is_near(part, near, place)? {
                spots.push((*segment, near));
            }
        }
    }
    // A session may go on in other segments.
    places.sort_unstable();
    for segment in 0..searched.parts.len() {
        let part = searched.adds(segment);
        let Some(sessions) = part.directory_range()? else { continue };
        let from = places.partition_point(|((session, _), _)| session < sessions.start());
        for (place, own) in &places[from..] {
            if place.0 > *sessions.end() {
                break;
            }
            if *own == segment {
                continue;
            }
            let Some(ordinals) = part.directory(place.0)? else { continue };
            let (mut from, mut to) = (ordinals.start, ordinals.end);
            while from < to {
                let middle = from + (to - from) / 2;
                let (values, row) = part.values(middle)?;
                if values.place(row).1 < place.1.saturating_sub(REACH) {
                    from = middle + 1;
                } else {
                    to = middle;
                }
            }
            while from < ordinals.end && is_near(part, from, *place)? {
                spots.push((segment, from));
                from += 1;
            }
        }
    }
    spots.sort_unstable();
    spots.dedup();
    let mut members = Vec::with_capacity(spots.len());
    for spot in spots {
        let part = searched.adds(spot.0);
        let (values, row) = part.values(spot.1)?;
        let number = values.number(row);
        if searched.is_there(spot.0, number)? {
            members.push(Member {
                place: values.place(row),
                spot,
                number,
                created_at: values.created_at(row),
                length: part.length(spot.1)?,
                asks: values.asks(row),
                counts: 0..0,
            });
        }
    }
    Ok(members)
}

/// Whether the document `ordinal` is in the session of `place`, and near it.
fn is_near(part: &Part<'_, '_>, ordinal: u32, (session, index): Place) -> Result<bool> {
    let (values, row) = part.values(ordinal)?;
    let place = values.place(row);
    Ok(place.0 == session && place.1.abs_diff(index) <= REACH)
}

/// Counts the query's terms in the members, which are in the order of their spots: their counts, one
/// member after the other.
fn count(searched: &Searched<'_, '_, '_>, members: &mut [Member]) -> Result<Vec<TermCount>> {
    let mut counts = Vec::with_capacity(members.len());
    for group in members.chunk_by_mut(|a, b| a.spot.0 == b.spot.0) {
        let segment = group[0].spot.0;
        let (part, stretch) = (searched.adds(segment), searched.stretch(segment));
        let mut cursors = Vec::new();
        for term in searched.found(segment) {
            term.expect(part, stretch, group.len())?;
            let position = u32::try_from(term.position).unwrap_or(u32::MAX);
            cursors.push((position, Cursor::new(part, term)));
        }
        for member in group {
            let start = counts.len();
            for (term, cursor) in &mut cursors {
                if let Some(Posting { count, label, .. }) = cursor.get(member.spot.1)? {
                    counts.push(TermCount { term: *term, count, label });
                }
            }
            member.counts = start..counts.len();
        }
    }
    Ok(counts)
}

/// The members, which are in the order of their places, as they are scored.
fn rank(members: &[Member], counts: &[TermCount], formula: &Formula) -> BinaryHeap<Entry<Spot>> {
    let Formula::Bm25(weights) = formula else { return BinaryHeap::new() };
    let mut session = 0;
    let mut last = None;
    let turns: Vec<Turn<'_>> = members
        .iter()
        .map(|Member { place: (number, index), length, asks, counts: own, .. }| {
            if last.replace(*number).is_some_and(|last| last != *number) {
                session += 1;
            }
            let counts = &counts[own.clone()];
            Turn { place: (session, *index), length: *length, counts, asks: *asks }
        })
        .collect();
    let entry = |(member, score): (&Member, f64)| Entry {
        key: member.spot,
        score,
        created_at: member.created_at,
        position: member.number,
    };
    members.iter().zip(scores(&turns, weights)).map(entry).collect()
}

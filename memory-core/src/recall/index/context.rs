//! [`Scorer::Context`](crate::recall::Scorer::Context) over the index.

use std::{collections::BTreeSet, ops::Range};

use super::{
    cursor::Cursor,
    formula::Formula,
    part::Part,
    places::Place,
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

/// A turn that is ranked anew.
struct Member {
    place: Place,
    spot: Spot,
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
    let candidates = searched.best_spots(&formula, CANDIDATES, &mut Present(searched))?;
    let mut members = members(searched, &candidates)?;
    let counts = count(searched, &mut members)?;
    members.sort_unstable_by_key(|member| member.place);
    let mut ranked = rank(&members, &counts, &formula);
    ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));

    let mut found = Vec::new();
    for equal in ranked.chunk_by(|a, b| a.1.total_cmp(&b.1).is_eq()) {
        if found.len() >= k {
            break;
        }
        let mut passed = Vec::new();
        for (spot, score) in equal {
            if filter.passes(searched.adds(spot.0), spot.1)? {
                passed.push(searched.entry(*spot, *score)?);
            }
        }
        passed.sort_unstable_by(|a, b| b.cmp(a));
        for Entry { key: spot, score, position: number, .. } in passed {
            if found.len() < k && filter.is_eligible(spot, number)? {
                found.push(Ranked { key: number, score });
            }
        }
    }
    if found.len() == k || candidates.len() < CANDIDATES {
        return Ok(found);
    }
    // Matches beyond the candidates follow in the order of BM25, none above what was ranked anew.
    let last = ranked.last().map_or(f64::INFINITY, |(_, score)| *score);
    let listed: BTreeSet<Spot> = members.iter().map(|member| member.spot).collect();
    let missing = (k - found.len()).saturating_add(listed.len());
    let mut beyond = searched.best(&formula, missing, &mut filter)?;
    beyond.retain(|entry| !listed.contains(&entry.key));
    for Ranked { key, score } in in_order(beyond).into_iter().take(k - found.len()) {
        found.push(Ranked { key, score: score.min(last) });
    }
    Ok(found)
}

/// The candidates, and the turns around them; by segment, in order.
fn members(searched: &Searched<'_, '_, '_>, candidates: &[Spot]) -> Result<Vec<Member>> {
    let reach = u32::try_from(REACH).unwrap_or(u32::MAX);
    let mut spots = Vec::with_capacity(candidates.len() * 5);
    let mut places: Vec<(Place, usize)> = Vec::with_capacity(candidates.len());
    for (segment, ordinal) in candidates {
        let part = searched.adds(*segment);
        let run = part.run(*ordinal)?;
        let place = run.place(*ordinal);
        places.push((place, *segment));
        // In a segment the turns of a session are side by side.
        let last = ordinal.saturating_add(reach).min(part.totals().documents - 1);
        for near in ordinal.saturating_sub(reach)..=last {
            if run.ordinals.contains(&near) || is_near(part, near, place)? {
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
                if part.run(middle)?.place(middle).1 < place.1.saturating_sub(REACH) {
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
    let mut members: Vec<Member> = Vec::with_capacity(spots.len());
    for spots in spots.chunk_by(|a, b| a.0 == b.0) {
        let segment = spots[0].0;
        let (part, may_miss) = (searched.adds(segment), searched.may_miss(segment));
        let mut run = part.run(spots[0].1)?;
        for spot in spots {
            if !run.ordinals.contains(&spot.1) {
                run = part.run(spot.1)?;
            }
            if may_miss && !searched.is_there(segment, searched.entry(*spot, 0.0)?.position)? {
                continue;
            }
            members.push(Member {
                place: run.place(spot.1),
                spot: *spot,
                length: part.length(spot.1)?,
                asks: part.asks(spot.1)?,
                counts: 0..0,
            });
        }
    }
    Ok(members)
}

/// Whether the document `ordinal` is in the session of `place`, and near it.
fn is_near(part: &Part<'_, '_>, ordinal: u32, (session, index): Place) -> Result<bool> {
    let place = part.run(ordinal)?.place(ordinal);
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

/// Where the members are, which are in the order of their places, and their scores.
fn rank(members: &[Member], counts: &[TermCount], formula: &Formula) -> Vec<(Spot, f64)> {
    let Formula::Bm25(weights) = formula else { return Vec::new() };
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
    members.iter().map(|member| member.spot).zip(scores(&turns, weights)).collect()
}

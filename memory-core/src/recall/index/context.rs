//! [`Scorer::Context`](crate::recall::Scorer::Context) over the index.

use std::collections::BTreeSet;

use super::{
    counting::Counting,
    formula::Formula,
    part::Part,
    places::Place,
    search::{Filter, Present, Searched, in_order},
    top::{Judge, Reader as _, Spot},
};
use crate::{
    Result,
    recall::{
        Ranked,
        context::{CANDIDATES, REACH, Turn, scores},
        ranked::Entry,
        statistics::Weights,
    },
};

/// A turn that is ranked anew.
pub(super) struct Member {
    pub(super) spot: Spot,
    pub(super) turn: Turn,
    /// Its BM25 score if it is a candidate.
    pub(super) own: f64,
}

pub(super) fn search(
    searched: &Searched<'_, '_, '_>,
    weights: Weights,
    k: usize,
    mut filter: Filter<'_, '_>,
) -> Result<Vec<Ranked<u64>>> {
    let formula = Formula::Bm25(weights);
    let candidates = searched.best_spots(&formula, CANDIDATES, &mut Present(searched))?;
    let members = members(searched, &candidates)?;
    // If any may be refused, or more is to be told than needed, there is no telling how many are wanted.
    let wanted = if filter.refuses() || searched.hurries() { usize::MAX } else { k };
    let mut ranked = rank(searched, &members, wanted, &formula)?;
    ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));

    let (mut found, mut unknown) = (Vec::new(), 0);
    for equal in ranked.chunk_by(|a, b| a.1.total_cmp(&b.1).is_eq()) {
        if found.len() + unknown >= k {
            break;
        }
        let mut passed = Vec::new();
        for (spot, score) in equal {
            match filter.passes(searched.adds(spot.0), spot.1)? {
                Some(true) => passed.push(searched.read(*spot, *score)?),
                Some(false) => {}
                // It is taken for one that passes, unless none is to be missed that may.
                None => unknown += usize::from(!searched.hurries()),
            }
        }
        passed.sort_unstable_by(|a, b| b.cmp(a));
        for Entry { key: spot, score, position: number, .. } in passed {
            if found.len() < k && filter.is_eligible(spot, number)? {
                found.push(Ranked { key: number, score });
            }
        }
    }
    if found.len() + unknown >= k || candidates.len() < CANDIDATES {
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

/// The candidates, and the turns around them, by place.
fn members(searched: &Searched<'_, '_, '_>, candidates: &[(Spot, f64)]) -> Result<Vec<Member>> {
    let reach = u32::try_from(REACH).unwrap_or(u32::MAX);
    let mut spots = Vec::with_capacity(candidates.len() * 5);
    let mut places: Vec<(Place, usize)> = Vec::with_capacity(candidates.len());
    for ((segment, ordinal), _) in candidates {
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
    let mut own = candidates.to_vec();
    own.sort_unstable_by_key(|(spot, _)| *spot);
    let mut own = own.into_iter().peekable();
    let mut members: Vec<Member> = Vec::with_capacity(spots.len());
    for spots in spots.chunk_by(|a, b| a.0 == b.0) {
        let segment = spots[0].0;
        let (part, may_miss) = (searched.adds(segment), searched.may_miss(segment));
        let mut run = part.run(spots[0].1)?;
        for spot in spots {
            let own = own.next_if(|(candidate, _)| candidate == spot).map_or(0.0, |own| own.1);
            if !run.ordinals.contains(&spot.1) {
                run = part.run(spot.1)?;
            }
            if may_miss && !searched.is_there(segment, searched.read(*spot, 0.0)?.position)? {
                continue;
            }
            let (place, length, asks) =
                (run.place(spot.1), part.length(spot.1)?, part.asks(spot.1)?);
            members.push(Member {
                spot: *spot,
                turn: Turn { place, length, asks, best: 0.0 },
                own,
            });
        }
    }
    members.sort_unstable_by_key(|member| member.turn.place);
    for session in members.chunk_by_mut(|a, b| a.turn.place.0 == b.turn.place.0) {
        // The others of a session are no better than its candidates, of which there is one.
        let best = session.iter().map(|member| member.own).fold(0.0, f64::max);
        for member in session {
            member.turn.best = best;
        }
    }
    Ok(members)
}

/// Whether the document `ordinal` is in the session of `place`, and near it.
fn is_near(part: &Part<'_, '_>, ordinal: u32, (session, index): Place) -> Result<bool> {
    let place = part.run(ordinal)?.place(ordinal);
    Ok(place.0 == session && place.1.abs_diff(index) <= REACH)
}

/// Where those members are that may be among the `k` best, and their scores.
fn rank(
    searched: &Searched<'_, '_, '_>,
    members: &[Member],
    k: usize,
    formula: &Formula,
) -> Result<Vec<(Spot, f64)>> {
    let Formula::Bm25(weights) = formula else { return Ok(Vec::new()) };
    let mut counting = Counting::new(searched, members, k, weights);
    while counting.term()? {}
    let (lenders, counts) = counting.finish();
    let turns: Vec<Turn> = lenders.iter().map(|(at, _)| members[*at].turn).collect();
    let scores = scores(&turns, |turn| counts.of(turn), weights);
    let ranked = lenders.iter().zip(scores).filter(|((_, may), _)| *may);
    Ok(ranked.map(|((at, _), score)| (members[*at].spot, score)).collect())
}

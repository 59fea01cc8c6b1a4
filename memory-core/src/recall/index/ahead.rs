//! What a search of a map that is [`Far`](super::Far) tells before it reads: level by level, of all
//! segments together.

use super::{
    lengths,
    page::Kind,
    part::{Part, Stretch},
    places,
    postings::Chunks,
    query_term::QueryTerm,
    segment::Sign,
    values,
};
use crate::{Result, recall::context::REACH};

/// The tables that a part may have.
pub(super) const TABLES: [Kind; 3] = [Kind::Workspaces, Kind::Directory, Kind::Dictionary];

/// The tables that a part has.
fn tables(part: &Part<'_, '_>) -> impl Iterator<Item = Kind> {
    let has_directory = part.sign == Sign::Removes || part.totals().of_sessions;
    TABLES.into_iter().filter(move |kind| has_directory || *kind != Kind::Directory)
}

/// What leads to all else, and then where `workspace` and `terms` are, and what is removed.
pub(super) fn terms(
    parts: &[[Part<'_, '_>; 2]],
    workspace: Option<&str>,
    terms: &[Vec<u8>],
) -> Result<()> {
    let far = || parts.iter().flatten().filter(|part| part.is_far());
    let mut is_at_hand = true;
    for part in far() {
        for kind in tables(part) {
            is_at_hand &= part.want(Kind::Fence, kind as u32);
        }
    }
    if !is_at_hand {
        return Ok(());
    }
    for part in far() {
        for kind in tables(part) {
            // So that all that was read first is kept.
            part.table(Kind::Fence, kind as u32)?;
        }
        let workspace = workspace.map(|name| (Kind::Workspaces, name.as_bytes()));
        let terms = terms.iter().map(|term| (Kind::Dictionary, term.as_slice()));
        for (kind, key) in workspace.into_iter().chain(terms) {
            if let Some(number) = part.page_number(kind, key)? {
                part.want(kind, number);
            }
        }
        if part.sign == Sign::Removes {
            part.want_table(Kind::Directory)?;
        }
    }
    Ok(())
}

/// The postings of the terms that were found in a stretch of a part, and if they matter its documents'
/// lengths.
pub(super) fn postings(
    part: &Part<'_, '_>,
    stretch: &Stretch,
    found: &[QueryTerm],
    has_lengths: bool,
) {
    let ordinals = &stretch.ordinals;
    if !part.is_far() || ordinals.is_empty() {
        return;
    }
    for term in found {
        let Chunks::From(first) = term.term.chunks else { continue };
        for (number, bound) in (first..).zip(&term.term.bounds) {
            if bound.last >= ordinals.start {
                part.want(Kind::Chunk, number);
            }
            if bound.last >= ordinals.end {
                break;
            }
        }
    }
    if has_lengths {
        part.want_all(Kind::Lengths, ordinals, lengths::DOCUMENTS);
    }
}

/// The places of the documents in a stretch of a part of turns; if neighbours matter, those around it and
/// where other sessions are, too.
pub(super) fn places(part: &Part<'_, '_>, stretch: &Stretch, has_context: bool) -> Result<()> {
    if !part.is_far() || !part.totals().of_sessions {
        return Ok(());
    }
    if has_context {
        part.want_table(Kind::Directory)?;
    }
    let mut ordinals = stretch.ordinals.clone();
    if has_context && !ordinals.is_empty() {
        let reach = u32::try_from(REACH).unwrap_or(u32::MAX);
        ordinals.start = ordinals.start.saturating_sub(reach);
        ordinals.end = ordinals.end.saturating_add(reach);
    }
    part.want_all(Kind::Places, &ordinals, places::DOCUMENTS);
    Ok(())
}

/// The values of the documents in a stretch of a part.
pub(super) fn values(part: &Part<'_, '_>, stretch: &Stretch) {
    if part.is_far() {
        part.want_all(Kind::Values, &stretch.ordinals, values::BLOCK);
    }
}

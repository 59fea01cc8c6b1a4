//! What a search of a map that is [`Far`](super::Far) tells before it reads: level by level, of all
//! segments together.

use super::{
    lengths,
    page::Kind,
    part::{Part, Stretch},
    postings::Chunks,
    query_term::QueryTerm,
    segment::Sign,
};
use crate::Result;

/// What leads to all else, and then where `workspace` and `terms` are, and what is removed.
pub(super) fn terms(
    parts: &[[Part<'_, '_>; 2]],
    workspace: Option<&str>,
    terms: &[Vec<u8>],
) -> Result<()> {
    let far = || parts.iter().flatten().filter(|part| part.is_far());
    let mut is_at_hand = true;
    for part in far() {
        for kind in tables(part.sign) {
            is_at_hand &= part.want(Kind::Fence, *kind as u32);
        }
    }
    if !is_at_hand {
        return Ok(());
    }
    for part in far() {
        // So that all that was read first is kept.
        for kind in tables(part.sign) {
            part.table(Kind::Fence, *kind as u32)?;
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

/// The tables that are searched in any part of a sign.
pub(super) fn tables(sign: Sign) -> &'static [Kind] {
    match sign {
        Sign::Adds => &[Kind::Workspaces, Kind::Dictionary],
        Sign::Removes => &[Kind::Workspaces, Kind::Dictionary, Kind::Directory],
    }
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
        for number in ordinals.start / lengths::DOCUMENTS..=(ordinals.end - 1) / lengths::DOCUMENTS
        {
            part.want(Kind::Lengths, number);
        }
    }
}

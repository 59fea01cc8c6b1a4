use std::{cmp::Reverse, collections::BinaryHeap};

use memchr::memmem;

use super::{
    blobs::Blobs,
    cache::Cache,
    cursor,
    document::{LONG_WORDS, WORD},
    page::Kind,
    part::{Part, Row, Stretch},
    search::is_there,
    segment::{Segment, Sign},
    set::Set,
    words::for_each_word,
};
use crate::Result;

/// What is sought in an index of turns [with words](super::Analysed::with_words).
#[derive(Clone, Copy, Debug)]
pub struct Sought<'s> {
    /// A stretch of text, as [`Substring`](crate::recall::Substring) takes it.
    pub text: &'s str,
    /// The one workspace that is searched, or all.
    pub workspace: Option<&'s str>,
    /// Only turns of this role.
    pub role: Option<&'s str>,
}

/// Calls `visit` with the numbers of the turns that may have the text that is sought, all that have it
/// among them, newest first and those of one time by insertion, until it returns false. Returns false,
/// and has visited nothing, if the text has no word.
///
/// Of each word of the text, the words of the index that have it in them tell in which turns it is.
/// `blobs`, `cache` and `newest` are those of [`search`](super::search()).
pub fn find(
    blobs: &dyn Blobs,
    cache: &Cache,
    newest: &dyn Blobs,
    sought: &Sought<'_>,
    visit: &mut dyn FnMut(u64) -> Result<bool>,
) -> Result<bool> {
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    for_each_word(sought.text, &mut |word| pieces.push(word.as_bytes().to_vec()));
    if pieces.is_empty() {
        return Ok(false);
    }
    // The longest is in the fewest words.
    pieces.sort_unstable_by_key(|piece| Reverse(piece.len()));
    pieces.dedup();
    let segments = Segment::all(blobs, cache, newest)?;
    let parts = Part::all(&segments);
    let mut candidates = BinaryHeap::new();
    for (segment, parts) in parts.iter().enumerate() {
        let part = &parts[Sign::Adds as usize];
        let stretch = part.within(sought.workspace)?;
        for ordinal in candidates_in(part, &stretch, &pieces)?.iter() {
            let (values, row) = part.values(ordinal)?;
            if sought.role.is_none_or(|role| values.role(row) == role) {
                candidates.push((values.created_at(row), Reverse(values.number(row)), segment));
            }
        }
    }
    while let Some((_, Reverse(number), segment)) = candidates.pop() {
        if is_there(&parts, segment, number)? && !visit(number)? {
            break;
        }
    }
    Ok(true)
}

/// The documents of a stretch that have words with all `pieces` in them.
fn candidates_in(part: &Part<'_, '_>, stretch: &Stretch, pieces: &[Vec<u8>]) -> Result<Set> {
    let mut candidates = Set::new(stretch);
    if stretch.ordinals.is_empty() {
        return Ok(candidates);
    }
    for (at, piece) in pieces.iter().enumerate() {
        let having = having(part, stretch, piece)?;
        if at == 0 {
            candidates = having;
        } else {
            candidates.retain(&having);
        }
        if candidates.iter().next().is_none() {
            break;
        }
    }
    Ok(candidates)
}

/// The documents of a stretch that have words with `piece` in them.
fn having(part: &Part<'_, '_>, stretch: &Stretch, piece: &[u8]) -> Result<Set> {
    let mut having = Set::new(stretch);
    let mut postings = Vec::new();
    let mut add = |row: &Row| {
        postings.clear();
        cursor::all(part, row, &mut postings)?;
        for posting in &postings {
            having.insert(posting.ordinal);
        }
        Ok(())
    };
    let finder = memmem::Finder::new(piece);
    // Words are the last of the dictionary.
    let mut number = part.page_number(Kind::Dictionary, &[WORD])?.unwrap_or_default();
    while let Some(page) = part.table(Kind::Dictionary, number)? {
        // What is found here may also be the end of a key and the beginning of the next.
        if finder.find(page.keys()).is_some() {
            for row in 0..page.len() {
                let key = page.key(row);
                if key.first() == Some(&WORD) && finder.find(&key[1..]).is_some() {
                    add(&(page.clone(), row))?;
                }
            }
        }
        number += 1;
    }
    if let Some(row) = part.find(Kind::Dictionary, LONG_WORDS)? {
        add(&row)?;
    }
    Ok(having)
}

use std::{fmt, str::FromStr};

use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Error, Result, Timestamp};

/// A part of a listing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The rows, in the listing's order.
    pub items: Vec<T>,
    /// Where the listing goes on; absent when no row was left behind, and for a limit of 0.
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// The page that holds everything there is.
    pub fn last(items: Vec<T>) -> Self {
        Self { items, next: None }
    }

    /// The same page with each row turned into another.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(f).collect(), next: self.next }
    }
}

/// Where a listing goes on: opaque to callers, who pass it back as they got it, to the same listing.
/// `limit` may be another (`PAGE-CURSOR-04`); with any other change the cursor is refused as
/// `InvalidArgument`.
///
/// It names the last row's place in the order, not a row count: rows that come or go elsewhere make
/// it neither skip nor repeat a row. Its text form is URL-safe.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// Tells the listing from every other: [`Window`](crate::Window) makes it.
    pub(crate) listing: [u8; 8],
    pub(crate) position: Position,
}

/// The place of a row in a listing, for backends. Within one listing places are ordered as its rows
/// are, but those by time of a listing from the newest on: there only the times turn round.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Position {
    /// Listings in order of insertion: the number that the backend gave to the row.
    Insertion(u64),
    /// Listings by time, then insertion.
    Time(Timestamp, u64),
    /// Turns and steps of a session, and one workspace's audit: the index.
    Index(u64),
    /// State entries: workspace and key. Audit of all workspaces: workspace, and the sequence
    /// number as 8 big-endian bytes.
    Key(String, Vec<u8>),
}

/// The first byte of a cursor's text form, which tells how the others are to be read.
const VERSION: u8 = 1;

impl Cursor {
    /// The row's place in the listing.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// `InvalidArgument`: the cursor is not one of this listing.
    pub(crate) fn foreign() -> Error {
        Error::invalid("cursor", "not a cursor of this listing")
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![VERSION];
        bytes.extend(self.listing);
        match &self.position {
            Position::Insertion(n) => {
                bytes.push(b'i');
                bytes.extend(n.to_be_bytes());
            }
            Position::Time(at, n) => {
                bytes.push(b't');
                bytes.extend(at.as_micros().to_be_bytes());
                bytes.extend(n.to_be_bytes());
            }
            Position::Index(n) => {
                bytes.push(b'n');
                bytes.extend(n.to_be_bytes());
            }
            Position::Key(workspace, key) => {
                bytes.push(b'k');
                bytes.extend((workspace.len() as u64).to_be_bytes());
                bytes.extend(workspace.as_bytes());
                bytes.extend(key);
            }
        }
        f.write_str(&BASE64URL_NOPAD.encode(&bytes))
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bytes = BASE64URL_NOPAD
            .decode(text.as_bytes())
            .map_err(|e| Error::invalid("cursor", "not a cursor").caused_by(e))?;
        decode(&bytes).ok_or_else(|| Error::invalid("cursor", "not a cursor"))
    }
}

fn decode(bytes: &[u8]) -> Option<Cursor> {
    let (version, rest) = bytes.split_first()?;
    let (listing, rest) = rest.split_first_chunk()?;
    let cursor = Cursor { listing: *listing, position: position(rest)? };
    (*version == VERSION).then_some(cursor)
}

fn position(bytes: &[u8]) -> Option<Position> {
    let number = |bytes: &[u8]| Some(u64::from_be_bytes(bytes.try_into().ok()?));
    let (tag, rest) = bytes.split_first()?;
    match tag {
        b'i' => Some(Position::Insertion(number(rest)?)),
        b'n' => Some(Position::Index(number(rest)?)),
        b't' => {
            let (at, n) = rest.split_at_checked(8)?;
            let at = Timestamp::from_micros(i64::from_be_bytes(at.try_into().ok()?))?;
            Some(Position::Time(at, number(n)?))
        }
        b'k' => {
            let (len, rest) = rest.split_at_checked(8)?;
            let (workspace, key) = rest.split_at_checked(usize::try_from(number(len)?).ok()?)?;
            let workspace = String::from_utf8(workspace.to_vec()).ok()?;
            Some(Position::Key(workspace, key.to_vec()))
        }
        _ => None,
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(|e: Error| de::Error::custom(e.message()))
    }
}

use std::{fmt, str::FromStr};

use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Error, Result, Scope, Timestamp};

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

    /// A page of at most `limit` rows out of `rows`, which were read with one row more to see
    /// whether any is left. Each row comes with its position.
    pub fn cut(mut rows: Vec<(T, Position)>, limit: usize) -> Self {
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|(_, position)| Cursor(position.clone()));
        Self { items: rows.into_iter().map(|(item, _)| item).collect(), next }
    }

    /// A page of at most `limit` of `rows`, which are those from the page's start on. No more of them
    /// are taken than it needs. Each comes with its position.
    pub fn first(rows: impl IntoIterator<Item = (T, Position)>, limit: usize) -> Self {
        // A page of nothing has no place to go on from, so it asks for no row more.
        let read = if limit == 0 { 0 } else { limit.saturating_add(1) };
        Self::cut(rows.into_iter().take(read).collect(), limit)
    }

    /// The page that comes after a place, of a listing whose rows are all at hand, in any order. Only
    /// those that are on the page are cloned.
    ///
    /// `after` is a cursor of this listing: [`Cursor::time`] and its like tell.
    pub fn sorted<'r>(
        rows: impl IntoIterator<Item = (&'r T, Position)>,
        newest_first: bool,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Self
    where
        T: Clone + 'r,
    {
        let order = |a: &Position, b: &Position| match (a, b) {
            // Of one time the first inserted comes first, either way.
            (Position::Time(a, m), Position::Time(b, n)) if newest_first => b.cmp(a).then(m.cmp(n)),
            _ if newest_first => b.cmp(a),
            _ => a.cmp(b),
        };
        let is_rest = |at: &Position| after.is_none_or(|after| order(at, &after.0).is_gt());
        let mut rows: Vec<_> = rows.into_iter().filter(|(_, at)| is_rest(at)).collect();
        rows.sort_unstable_by(|(_, a), (_, b)| order(a, b));
        Self::first(rows.into_iter().map(|(row, at)| (row.clone(), at)), limit)
    }

    /// The same page with each row turned into another.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(f).collect(), next: self.next }
    }
}

/// Where a listing goes on: opaque to callers, who pass it back as they got it, to the same listing.
///
/// It names the last row's place in the order, not a row count: rows that come or go elsewhere make
/// it neither skip nor repeat a row. Its text form is URL-safe.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor(Position);

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

impl Cursor {
    /// The cursor after a row at `position`.
    pub fn new(position: Position) -> Self {
        Self(position)
    }

    /// The row's place in the listing.
    pub fn position(&self) -> &Position {
        &self.0
    }

    /// `InvalidArgument`: the cursor is not one of this listing.
    pub fn foreign() -> Error {
        Error::invalid("cursor", "not a cursor of this listing")
    }

    /// The position, which must be one of a listing by insertion.
    pub fn insertion(cursor: Option<&Self>) -> Result<Option<u64>> {
        match cursor.map(Self::position) {
            None => Ok(None),
            Some(Position::Insertion(n)) => Ok(Some(*n)),
            Some(_) => Err(Self::foreign()),
        }
    }

    /// The position, which must be one of a listing by time.
    pub fn time(cursor: Option<&Self>) -> Result<Option<(Timestamp, u64)>> {
        match cursor.map(Self::position) {
            None => Ok(None),
            Some(Position::Time(at, n)) => Ok(Some((*at, *n))),
            Some(_) => Err(Self::foreign()),
        }
    }

    /// The position, which must be one of a listing by index.
    pub fn index(cursor: Option<&Self>) -> Result<Option<u64>> {
        match cursor.map(Self::position) {
            None => Ok(None),
            Some(Position::Index(n)) => Ok(Some(*n)),
            Some(_) => Err(Self::foreign()),
        }
    }

    /// Workspace and key, of a listing of state entries in `scope`.
    pub fn state<'a>(
        cursor: Option<&'a Self>,
        scope: &Scope,
    ) -> Result<Option<(&'a str, &'a str)>> {
        let Some((workspace, key)) = Self::key(cursor)? else { return Ok(None) };
        if scope.workspace().is_some_and(|seen| seen.as_str() != workspace) {
            return Err(Self::foreign());
        }
        let key = std::str::from_utf8(key).map_err(|_| Self::foreign())?;
        Ok(Some((workspace, key)))
    }

    /// Workspace and sequence number, of a listing of all workspaces' audit records.
    pub fn audit(cursor: Option<&Self>) -> Result<Option<(&str, u64)>> {
        let Some((workspace, seq)) = Self::key(cursor)? else { return Ok(None) };
        let seq = seq.try_into().map_err(|_| Self::foreign())?;
        Ok(Some((workspace, u64::from_be_bytes(seq))))
    }

    fn key(cursor: Option<&Self>) -> Result<Option<(&str, &[u8])>> {
        match cursor.map(Self::position) {
            None => Ok(None),
            Some(Position::Key(workspace, key)) => Ok(Some((workspace, key))),
            Some(_) => Err(Self::foreign()),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        match &self.0 {
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
        decode(&bytes).map(Self).ok_or_else(|| Error::invalid("cursor", "not a cursor"))
    }
}

fn decode(bytes: &[u8]) -> Option<Position> {
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

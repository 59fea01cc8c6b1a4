use memkeep::{
    AuditId, EpisodeId, Hash, Json, NoteId, SessionId, StepId, Timestamp, TurnId, Workspace,
};
use serde::Serialize;

use super::escape;

/// A record as people see it. The same fields make the row of a table and the full view.
pub(crate) trait Render: Serialize {
    /// What several of them are called.
    const NAMES: &'static str;

    /// Its fields in the order in which they are shown.
    fn fields(&self) -> Fields;

    /// Its place in a text of many.
    fn paragraph(&self) -> String {
        self.fields().to_text()
    }
}

/// A record with an id.
pub(crate) trait Named: Render {
    /// The id.
    fn id(&self) -> &str;
}

/// The fields of a record.
#[derive(Default)]
pub(crate) struct Fields(Vec<Field>);

/// A field of a record.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// Whether tables have a column of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Always.
    Column,
    /// Where there is room for it.
    Spare,
    /// Never.
    Detail,
}

/// The value of a field.
pub(crate) enum Value {
    /// Nothing: an empty cell, and no line in the full view.
    Absent,
    /// Any text: where there is little room it is wrapped.
    Text(String),
    /// A text to copy from, which is kept in one piece.
    Name(String),
    /// A number.
    Number(String),
    /// An instant.
    Time(Timestamp),
}

impl Fields {
    /// A field that tables show too.
    pub(crate) fn column(self, name: &'static str, value: impl Into<Value>) -> Self {
        self.with(name, value.into(), Place::Column)
    }

    /// A field that tables show where they have the room; the last of them goes first.
    pub(crate) fn spare(self, name: &'static str, value: impl Into<Value>) -> Self {
        self.with(name, value.into(), Place::Spare)
    }

    /// A field of the full view only.
    pub(crate) fn detail(self, name: &'static str, value: impl Into<Value>) -> Self {
        self.with(name, value.into(), Place::Detail)
    }

    /// The fields of another after these.
    pub(crate) fn followed_by(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    fn with(mut self, name: &'static str, value: Value, place: Place) -> Self {
        self.0.push(Field { name, value, place });
        self
    }

    /// Those that tables show.
    pub(super) fn into_columns(self) -> impl Iterator<Item = Field> {
        self.0.into_iter().filter(|field| field.place != Place::Detail)
    }

    /// The full view: a line a field, the further lines of a value beneath its first.
    pub(crate) fn to_text(&self) -> String {
        let fields = self.0.iter().map(|field| (field.name, field.value.to_text()));
        let width = self.0.iter().map(|field| field.name.len()).max().unwrap_or(0) + 2;
        let indent = format!("\n{:width$}", "");
        fields
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name:width$}{}", value.replace('\n', &indent)))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

impl Value {
    /// JSON that stays JSON when it is shown.
    pub(super) fn json(json: &Json) -> Self {
        Self::Text(escape::json(&json.to_string()).into_owned())
    }

    /// In the full view.
    fn to_text(&self) -> String {
        match self {
            Self::Absent => String::new(),
            Self::Text(text) | Self::Name(text) => escape::text(text).into_owned(),
            Self::Number(number) => number.clone(),
            Self::Time(at) => at.to_string(),
        }
    }

    /// In a cell of a table: instants to the second.
    pub(super) fn to_cell(&self) -> String {
        match self {
            Self::Absent => String::new(),
            Self::Text(text) | Self::Name(text) | Self::Number(text) => text.clone(),
            Self::Time(at) => {
                let text = at.to_string();
                text.get(..19).unwrap_or(&text).replace('T', " ")
            }
        }
    }

    /// With what a cell shows of a text: one line, not too long.
    pub(super) fn cut(self) -> Self {
        /// Enough to recognise a text, and to show an id whole.
        const LIMIT: usize = 100;
        match self {
            Self::Text(text) => Self::Text(escape::cut(&text, LIMIT)),
            Self::Name(text) => Self::Name(escape::cut(&text, LIMIT)),
            other => other,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

macro_rules! names {
    ($($ty:ty),*) => {$(
        impl From<&$ty> for Value {
            fn from(name: &$ty) -> Self {
                Self::Name(name.as_str().to_owned())
            }
        }
    )*};
}

names!(AuditId, EpisodeId, NoteId, SessionId, StepId, TurnId);

/// Often a path: where there is little room it is wrapped.
impl From<&Workspace> for Value {
    fn from(workspace: &Workspace) -> Self {
        Self::Text(workspace.as_str().to_owned())
    }
}

impl From<Hash> for Value {
    fn from(hash: Hash) -> Self {
        Self::Name(hash.to_string())
    }
}

impl From<Timestamp> for Value {
    fn from(at: Timestamp) -> Self {
        Self::Time(at)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number.to_string())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number.to_string())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        let small = number != 0.0 && number.abs() < 0.001;
        Self::Number(if small { format!("{number:.1e}") } else { format!("{number:.4}") })
    }
}

impl From<&Json> for Value {
    fn from(json: &Json) -> Self {
        if json.is_null() { Self::Absent } else { Self::json(json) }
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Into::into)
    }
}

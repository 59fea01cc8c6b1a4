use std::{error::Error as StdError, fmt, sync::Arc};

/// The result of every fallible call of memkeep.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, as a caller may act on it. The kind is part of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A record that the call names does not exist (or not in the workspace it was sought in).
    NotFound,
    /// The call contradicts what is stored: an id with another body, an expectation that failed, an
    /// ended session, an idempotency key of another batch.
    Conflict,
    /// The words of the call are wrong, whatever is stored: out of bounds, malformed, not a number.
    InvalidArgument,
    /// This backend cannot do this.
    Unsupported,
    /// Something was waited for longer than allowed: a reader, the writer's queue, a lock.
    Timeout,
    /// The store is held by another handle or process, and its engine allows only one.
    AlreadyOpen,
    /// The store can be read, not written.
    ReadOnly,
    /// The medium has no room left.
    StorageFull,
    /// The store was written by a newer program.
    SchemaTooNew,
    /// Stored bytes are not what they must be; the context names the row.
    Corrupt,
    /// This handle has been closed.
    Closed,
    /// The store cannot be reached now; it may be later.
    Unavailable,
    /// None of the others; the source says more.
    Unexpected,
}

impl ErrorKind {
    /// The name of the kind, as it is written in messages: `NotFound`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "NotFound",
            Self::Conflict => "Conflict",
            Self::InvalidArgument => "InvalidArgument",
            Self::Unsupported => "Unsupported",
            Self::Timeout => "Timeout",
            Self::AlreadyOpen => "AlreadyOpen",
            Self::ReadOnly => "ReadOnly",
            Self::StorageFull => "StorageFull",
            Self::SchemaTooNew => "SchemaTooNew",
            Self::Corrupt => "Corrupt",
            Self::Closed => "Closed",
            Self::Unavailable => "Unavailable",
            Self::Unexpected => "Unexpected",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The one error of memkeep: a kind, a message, the operation, context pairs and the source.
///
/// Context holds ids, positions and field names; never content and never a secret.
/// Cloning is cheap: every caller of a failed group commit gets the same error.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    operation: Option<&'static str>,
    context: Vec<(&'static str, String)>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    retryable: bool,
}

impl Error {
    /// An error of `kind` with a message for a person.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            operation: None,
            context: Vec::new(),
            source: None,
            retryable: matches!(kind, ErrorKind::Timeout | ErrorKind::Unavailable),
        }))
    }

    /// [`ErrorKind::InvalidArgument`] for the field `field`.
    pub fn invalid(field: &str, message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::InvalidArgument, format!("{field}: {message}")).with("field", field)
    }

    /// [`ErrorKind::NotFound`] for the record `id` of the kind `what` (`"session"`, …).
    pub fn not_found(what: &'static str, id: impl fmt::Display) -> Self {
        Self::new(ErrorKind::NotFound, format!("no such {what}")).with(what, id)
    }

    /// [`ErrorKind::Corrupt`]: the row `row` of `table` cannot be read.
    pub fn corrupt(table: &str, row: impl fmt::Display, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message).with("table", table).with("row", row)
    }

    /// [`ErrorKind::Closed`].
    pub fn closed() -> Self {
        Self::new(ErrorKind::Closed, "the store has been closed")
    }

    /// Adds a context pair.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((name, value.to_string()));
        self
    }

    /// Names the operation that failed; the first name given stays.
    #[must_use]
    pub fn during(mut self, operation: &'static str) -> Self {
        self.0.operation.get_or_insert(operation);
        self
    }

    /// Keeps what caused this error.
    #[must_use]
    pub fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Says that the same call may succeed if it is made again as it is.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.0.retryable = true;
        self
    }

    /// The kind, which a caller acts on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message, without kind, operation, context and source.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The operation that failed, where it is known.
    pub fn operation(&self) -> Option<&'static str> {
        self.0.operation
    }

    /// The context pairs, in the order they were added.
    pub fn context(&self) -> &[(&'static str, String)] {
        &self.0.context
    }

    /// The first context value under `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.context.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str())
    }

    /// Whether the same call may succeed later, unchanged. A batch with an idempotency key may be
    /// retried without harm; one without it only if its ops carry ids.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = self.0.operation {
            write!(f, "{operation}: ")?;
        }
        f.write_str(&self.0.message)?;
        for (i, (name, value)) in self.0.context.iter().enumerate() {
            let open = if i == 0 { " (" } else { ", " };
            write!(f, "{open}{name}: {}", value.escape_debug())?;
        }
        if !self.0.context.is_empty() {
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.0.kind)?;
        let mut source = self.source();
        while let Some(error) = source {
            write!(f, "; caused by: {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|s| s as &(dyn StdError + 'static))
    }
}

use std::{
    fmt,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use jiff::{
    SignedDuration,
    civil::DateTime,
    fmt::temporal::{Pieces, PiecesOffset},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Error, Result};

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// An instant: microseconds since 1970-01-01T00:00:00Z, in the years 0 to 9999.
///
/// As text it is RFC 3339 in UTC with six decimals; text finer than a microsecond is refused, so
/// that what a write returns is what a read returns.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Timestamp {
    /// 0000-01-01T00:00:00.000000Z.
    pub const MIN: Self = Self(-62_167_219_200_000_000);
    /// 9999-12-31T23:59:59.999999Z.
    pub const MAX: Self = Self(253_402_300_799_999_999);

    /// The instant `micros` microseconds after the epoch, if it lies in the years 0 to 9999.
    pub const fn from_micros(micros: i64) -> Option<Self> {
        if micros < Self::MIN.0 || micros > Self::MAX.0 { None } else { Some(Self(micros)) }
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The system's clock now.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// This instant and `duration` more, cut to microseconds and held at [`Timestamp::MAX`].
    #[must_use]
    pub fn saturating_add(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros).min(Self::MAX.0))
    }

    /// This instant less `duration`, cut to microseconds and held at [`Timestamp::MIN`].
    #[must_use]
    pub fn saturating_sub(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(micros).max(Self::MIN.0))
    }

    /// How long after `earlier` this instant is; nothing if it is before.
    pub fn saturating_duration_since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let epoch = Self(0);
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => epoch.saturating_add(after),
            Err(before) => epoch.saturating_sub(before.duration()),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = EPOCH.checked_add(SignedDuration::from_micros(self.0)).map_err(|_| fmt::Error)?;
        write!(f, "{at:.6}Z")
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = |why: &str| Error::invalid("timestamp", why);
        let pieces =
            Pieces::parse(text).map_err(|e| bad("not an RFC 3339 timestamp").caused_by(e))?;
        let time = pieces.time().ok_or_else(|| bad("the time of day is missing"))?;
        let offset = match pieces.offset() {
            Some(PiecesOffset::Zulu) => 0,
            Some(PiecesOffset::Numeric(n)) => n.offset().seconds(),
            _ => return Err(bad("the offset from UTC is missing")),
        };
        let since = pieces.date().to_datetime(time).duration_since(EPOCH)
            - SignedDuration::from_secs(i64::from(offset));
        if since.subsec_nanos() % 1_000 != 0 {
            return Err(bad("finer than a microsecond"));
        }
        i64::try_from(since.as_micros())
            .ok()
            .and_then(Self::from_micros)
            .ok_or_else(|| bad("outside the years 0 to 9999"))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(|e: Error| de::Error::custom(e.message()))
    }
}

/// Where a store reads the time. One reading serves a whole batch.
pub trait Clock: Send + Sync + 'static {
    /// The instant now. It may step back: no order in memkeep depends on it.
    fn now(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

/// The clock of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that stands where it was put: for tests and for replays.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `at`.
    pub fn new(at: Timestamp) -> Self {
        Self(AtomicI64::new(at.as_micros()))
    }

    /// Puts the clock at `at`, later or earlier.
    pub fn set(&self, at: Timestamp) {
        self.0.store(at.as_micros(), Ordering::SeqCst);
    }

    /// Moves the clock on by `duration`.
    pub fn advance(&self, duration: Duration) {
        self.set(self.now().saturating_add(duration));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

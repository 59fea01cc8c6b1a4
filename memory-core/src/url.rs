use std::{borrow::Cow, fmt, str::FromStr};

use percent_encoding::percent_decode_str;

use crate::{Error, Result};

/// The parts of a store's URL: `sqlite:agent.db?synchronous=normal`, `inmem:`.
///
/// The scheme picks the backend. What follows the colon, up to a `?`, is the backend's own: for
/// embedded ones a path, taken as it is (a `?`, `%` or `#` in it is written percent-encoded).
/// Parameters are `name=value`, joined by `&`, percent-encoded where needed, each given once.
///
/// `Debug` and `Display` leave out what stands between `//` and an `@`, and all parameters: they may
/// hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    scheme: String,
    rest: String,
    parameters: Vec<(String, String)>,
}

impl StoreUrl {
    /// The backend's name, in lower case.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// What stands between the scheme's colon and the parameters, percent-decoded. A leading `//`
    /// of an empty host is dropped: `sqlite:///a/b` and `sqlite:/a/b` are the same. A host is
    /// `InvalidArgument`: whoever writes `sqlite://agent.db` does not mean `/agent.db`.
    pub fn path(&self) -> Result<String> {
        let path = match self.rest.strip_prefix("//") {
            Some(path) if path.starts_with('/') => path,
            Some(_) => {
                let scheme = &self.scheme;
                let message = format_args!(
                    "a path is written as in {scheme}:agent.db or {scheme}:///srv/agent.db"
                );
                return Err(Error::invalid("url", message));
            }
            None => &self.rest,
        };
        let path = decode(path)?;
        if path.contains('\0') {
            return Err(Error::invalid("url", "no path has U+0000 in it"));
        }
        Ok(path)
    }

    /// What stands between the scheme's colon and the parameters, as it was written.
    pub fn rest(&self) -> &str {
        &self.rest
    }

    /// The parameters in the order given.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of the parameter `name` as what the backend takes.
    ///
    /// Errors: `InvalidArgument` if it cannot be read so.
    pub fn parse_parameter<T: FromStr>(name: &str, value: &str) -> Result<T> {
        let message = "the value is not of the kind that this parameter takes";
        value.parse().map_err(|_| Error::invalid(name, message))
    }

    /// `InvalidArgument`: the parameter `name` is not known to the backend.
    pub fn unknown_parameter(&self, name: &str) -> Error {
        Error::invalid("url", format_args!("{} takes no parameter `{name}`", self.scheme))
    }
}

fn decode(text: &str) -> Result<String> {
    percent_decode_str(text)
        .decode_utf8()
        .map(Cow::into_owned)
        .map_err(|e| Error::invalid("url", "not UTF-8 after percent-decoding").caused_by(e))
}

impl FromStr for StoreUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (scheme, rest) =
            text.split_once(':').filter(|(scheme, _)| is_scheme(scheme)).ok_or_else(|| {
                Error::invalid("url", "a store is named as SCHEME:REST, such as sqlite:agent.db")
            })?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parameters: Vec<(String, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            if parameters.iter().any(|(known, _)| *known == name) {
                return Err(Error::invalid("url", "a parameter is given twice"));
            }
            parameters.push((name, decode(value)?));
        }
        Ok(Self { scheme: scheme.to_ascii_lowercase(), rest: rest.to_owned(), parameters })
    }
}

/// Two letters at least, so that a Windows path (`C:\agent.db`) is not taken for a URL.
fn is_scheme(text: &str) -> bool {
    text.len() > 1
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn has_at((name, value): (&str, &str)) -> bool {
    name.contains('@') || value.contains('@')
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = match self.rest.rsplit_once('@') {
            Some((before, after)) if before.starts_with("//") => format!("//…@{after}"),
            // A `?` that was to be part of the secret is not written as it should be, but it still is
            // the secret that stands before it.
            _ if self.rest.starts_with("//") && self.parameters().any(has_at) => "//…".to_owned(),
            _ => self.rest.clone(),
        };
        write!(f, "{}:{shown}", self.scheme)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

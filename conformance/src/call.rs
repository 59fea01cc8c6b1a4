//! How the arguments of a call are written in Rust.

use std::{fmt::Debug, io, path::Path};

// All that a call takes is written down here.
#[allow(clippy::wildcard_imports)]
use memkeep_core::{decide::Prepared, verify::Verify, *};
use serde::Serialize;

use crate::Damage;

/// How much of a batch is written at most: more than a failure shows of one call.
const SHOWN_BYTES: usize = 16 << 10;

/// A value that can stand in a recorded program.
pub(crate) trait Call {
    /// The expression that makes the value.
    fn text(&self) -> String;
}

impl<T: Call + ?Sized> Call for &T {
    fn text(&self) -> String {
        (**self).text()
    }
}

impl Call for str {
    fn text(&self) -> String {
        format!("{self:?}")
    }
}

impl Call for Path {
    fn text(&self) -> String {
        format!("Path::new({:?})", self.display().to_string())
    }
}

impl Call for bool {
    fn text(&self) -> String {
        self.to_string()
    }
}

impl Call for usize {
    fn text(&self) -> String {
        if *self == usize::MAX { "usize::MAX".to_owned() } else { format!("{self}_usize") }
    }
}

impl Call for Option<String> {
    fn text(&self) -> String {
        self.as_ref().map_or("None".to_owned(), |text| format!("Some({text:?}.to_owned())"))
    }
}

macro_rules! as_json {
    ($($type:ident)*) => {$(
        impl Call for $type {
            fn text(&self) -> String {
                json(self)
            }
        }
    )*};
}

as_json! {
    Batch Op
    NewSession NewTurn NewStep NewEpisode EpisodeRevision NewNote PutState DeleteState NewAudit
}

impl Call for Prepared {
    fn text(&self) -> String {
        format!("Batch::prepare({})?", json(&self.clone().into_batch()))
    }
}

fn json(value: &impl Serialize) -> String {
    let mut json = Shown::default();
    // A text that is full ends the writing: what it has is what is shown.
    let cut = serde_json::to_writer(&mut json, value).is_err();
    let json = String::from_utf8_lossy(&json.0);
    let cut = if cut { " …" } else { "" };
    // As many hashes as the text does not end by itself.
    let mut hashes = "#".to_owned();
    while json.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    format!("from_json(r{hashes}\"{json}{cut}\"{hashes})")
}

/// The beginning of a text that may be far too large to be shown.
#[derive(Default)]
struct Shown(Vec<u8>);

impl io::Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = SHOWN_BYTES.saturating_sub(self.0.len());
        if left == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = left.min(bytes.len());
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Call for Damage {
    fn text(&self) -> String {
        let (form, record) = match self {
            Self::Undecodable(record) => ("Undecodable", record),
            Self::Altered(record) => ("Altered", record),
        };
        let json = serde_json::to_string(record).unwrap_or_default();
        format!("&Damage::{form}(serde_json::from_str(r####\"{json}\"####)?)")
    }
}

impl Call for Scope {
    fn text(&self) -> String {
        match self {
            Self::All => "&Scope::All".to_owned(),
            Self::Workspace(workspace) => format!("&Scope::from({:?})", workspace.as_str()),
        }
    }
}

impl Call for Workspace {
    fn text(&self) -> String {
        format!("&Workspace::from({:?})", self.as_str())
    }
}

macro_rules! ids {
    ($($id:ident)*) => {$(
        impl Call for $id {
            fn text(&self) -> String {
                format!("&{:?}.into()", self.as_str())
            }
        }
    )*};
}

ids!(EpisodeId NoteId SessionId StepId TurnId);

/// A query as the chain of the setters that differ from the default.
struct Chain(String);

impl Chain {
    fn new(constructor: String) -> Self {
        Self(constructor)
    }

    fn set(mut self, is_default: bool, setter: &str, argument: impl Into<String>) -> Self {
        if !is_default {
            self.0.extend([".", setter, "(", &argument.into(), ")"]);
        }
        self
    }

    fn scope(self, scope: &Scope) -> Self {
        let argument = scope.workspace().map(|w| format!("{:?}", w.as_str()));
        self.set(argument.is_none(), "scope", argument.unwrap_or_default())
    }

    fn limit(self, limit: usize, default: usize) -> Self {
        self.set(limit == default, "limit", limit.text())
    }

    fn after(self, after: Option<&Cursor>) -> Self {
        let argument = after.map(|c| format!("{:?}.parse::<Cursor>()?", c.to_string()));
        self.set(argument.is_none(), "after", argument.unwrap_or_default())
    }

    fn some(self, setter: &str, value: Option<&(impl Debug + ?Sized)>) -> Self {
        let argument = value.map(|v| format!("{v:?}"));
        self.set(argument.is_none(), setter, argument.unwrap_or_default())
    }

    fn end(self) -> String {
        format!("&{}", self.0)
    }
}

impl Call for Scan {
    fn text(&self) -> String {
        Chain::new(format!("Scan::new(RecordKind::{:?})", self.kind))
            .scope(&self.scope)
            .limit(self.limit, usize::MAX)
            .after(self.after.as_ref())
            .end()
    }
}

impl Call for ListEpisodes {
    fn text(&self) -> String {
        Chain::new("ListEpisodes::new()".to_owned())
            .scope(&self.scope)
            .some("open", self.open.as_ref())
            .limit(self.limit, usize::MAX)
            .after(self.after.as_ref())
            .end()
    }
}

impl Call for ListNotes {
    fn text(&self) -> String {
        Chain::new("ListNotes::new()".to_owned())
            .scope(&self.scope)
            .limit(self.limit, usize::MAX)
            .after(self.after.as_ref())
            .end()
    }
}

impl Call for ListSessions {
    fn text(&self) -> String {
        Chain::new("ListSessions::new()".to_owned())
            .scope(&self.scope)
            .set(self.order == SessionOrder::Started, "order", "SessionOrder::Active")
            .limit(self.limit, DEFAULT_LIMIT)
            .after(self.after.as_ref())
            .end()
    }
}

impl Call for ListTurns {
    fn text(&self) -> String {
        Chain::new(format!("ListTurns::new({:?})", self.session.as_str()))
            .scope(&self.scope)
            .set(!self.newest_first, "newest_first", "true")
            .limit(self.limit, DEFAULT_LIMIT)
            .after(self.after.as_ref())
            .end()
    }
}

impl Call for ListSteps {
    fn text(&self) -> String {
        Chain::new(format!("ListSteps::new({:?})", self.session.as_str()))
            .scope(&self.scope)
            .limit(self.limit, DEFAULT_LIMIT)
            .after(self.after.as_ref())
            .end()
    }
}

impl Call for ListStates {
    fn text(&self) -> String {
        Chain::new("ListStates::new()".to_owned())
            .scope(&self.scope)
            .set(self.prefix.is_empty(), "prefix", format!("{:?}", self.prefix))
            .limit(self.limit, usize::MAX)
            .after(self.after.as_ref())
            .end()
    }
}

impl Call for ListAudit {
    fn text(&self) -> String {
        Chain::new("ListAudit::new()".to_owned())
            .scope(&self.scope)
            .limit(self.limit, usize::MAX)
            .after(self.after.as_ref())
            .end()
    }
}

impl Call for FindTurns {
    fn text(&self) -> String {
        Chain::new(format!("FindTurns::new({:?})", self.text))
            .scope(&self.scope)
            .set(
                self.role.is_none(),
                "role",
                format!("{:?}.to_owned()", self.role.as_deref().unwrap_or_default()),
            )
            .limit(self.limit, DEFAULT_FINDS)
            .end()
    }
}

impl Call for RecallQuery {
    fn text(&self) -> String {
        let time =
            |t: Option<Timestamp>| t.map(|t| format!("{:?}.parse::<Timestamp>()?", t.to_string()));
        let since = time(self.since);
        let until = time(self.until);
        let owned = |text: Option<&str>| text.map(|t| format!("{t:?}.to_owned()"));
        let role = owned(self.role.as_deref());
        let tag = owned(self.tag.as_deref());
        let session = self.session.as_ref().map(|s| format!("SessionId::from({:?})", s.as_str()));
        let source = self.source.as_ref().map(|s| format!("EpisodeId::from({:?})", s.as_str()));
        let scorer = self.scorer.map(|s| format!("Scorer::{s:?}"));
        let mut chain = Chain::new(format!("RecallQuery::new({:?})", self.text))
            .set(self.k == DEFAULT_RECALL, "k", self.k.text())
            .scope(&self.scope)
            .some("open", self.open.as_ref());
        let rest = [
            ("scorer", scorer),
            ("role", role),
            ("tag", tag),
            ("session", session),
            ("source", source),
            ("since", since),
            ("until", until),
        ];
        for (setter, argument) in rest {
            chain = chain.set(argument.is_none(), setter, argument.unwrap_or_default());
        }
        chain.end()
    }
}

impl Call for Prune {
    fn text(&self) -> String {
        Chain::new(format!("Prune::new({:?}.parse()?)", self.before.to_string()))
            .scope(&self.scope)
            .end()
    }
}

impl Call for Verify {
    fn text(&self) -> String {
        Chain::new("Verify::new()".to_owned()).set(!self.repair, "repair", "true").end()
    }
}

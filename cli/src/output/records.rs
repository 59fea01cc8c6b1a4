use memkeep::{
    AuditRecord, Episode, EpisodeId, Hit, Metadata, Note, Session, StateEntry, Step, Timestamp,
    Turn,
};
use serde::Serialize;

use super::{Fields, Named, Render, fields::Value};

macro_rules! named {
    ($($record:ty),*) => {$(
        impl Named for $record {
            fn id(&self) -> &str {
                self.id.as_str()
            }
        }
    )*};
}

named!(Session, Turn, Step, Episode, Note, AuditRecord);

/// Metadata is shown where there is any.
fn metadata(metadata: &Metadata) -> Value {
    if metadata.is_empty() {
        return Value::Absent;
    }
    Value::json(&memkeep::Json::Object(metadata.clone()))
}

/// `created_at` where it does not repeat another time of the record.
fn created_unless(created_at: Timestamp, other: Timestamp) -> Option<Timestamp> {
    (created_at != other).then_some(created_at)
}

impl Render for Session {
    const NAMES: &'static str = "sessions";

    fn fields(&self) -> Fields {
        Fields::default()
            .column("id", &self.id)
            .spare("workspace", &self.workspace)
            .spare("started", self.started_at)
            .detail("created", created_unless(self.created_at, self.started_at))
            .detail("last_active", self.last_active)
            .spare("ended", self.ended_at)
            .detail("model", self.model.as_deref())
            .detail("mode", self.mode.as_deref())
            .spare("turns", self.turn_count)
            .detail("steps", self.step_count)
            .spare("tokens", self.total_tokens)
            .detail("summary", self.summary.as_deref())
            .detail("metadata", metadata(&self.metadata))
            .column("first_prompt", self.first_prompt.as_deref())
    }
}

impl Render for Turn {
    const NAMES: &'static str = "turns";

    fn fields(&self) -> Fields {
        Fields::default()
            .detail("id", &self.id)
            .spare("workspace", &self.workspace)
            .column("session", &self.session)
            .spare("index", self.index)
            .column("role", self.role.as_str())
            .spare("created", self.created_at)
            .detail("model", self.model.as_deref())
            .detail("tokens", self.tokens)
            .detail("embedding_id", self.embedding_id.as_deref())
            .detail("tags", tags(self))
            .detail("metadata", metadata(&self.metadata))
            .column("content", self.content.as_str())
    }

    fn paragraph(&self) -> String {
        let Self { index, id, role, created_at, content, .. } = self;
        let tags = tags(self).map(|tags| format!(" [{tags}]")).unwrap_or_default();
        let head = format!("#{index} {role} {created_at} {id}{tags}");
        // Indented, so that no content can pass for the head of another turn.
        let content = content.trim_end_matches('\n').replace('\n', "\n    ");
        format!("{}\n    {content}", super::escape::line(&head))
    }
}

/// A turn's tags as `name` or `name=value`.
fn tags(turn: &Turn) -> Option<String> {
    let tags: Vec<String> = turn
        .tags
        .iter()
        .map(|(name, value)| match value {
            Some(value) => format!("{name}={value}"),
            None => name.clone(),
        })
        .collect();
    (!tags.is_empty()).then(|| tags.join(", "))
}

impl Render for Step {
    const NAMES: &'static str = "steps";

    fn fields(&self) -> Fields {
        Fields::default()
            .detail("id", &self.id)
            .detail("workspace", &self.workspace)
            .detail("session", &self.session)
            .spare("index", self.index)
            .column("name", self.name.as_str())
            .column("status", self.status.as_str())
            .spare("created", self.created_at)
            .column("payload", &self.payload)
    }
}

impl Render for Episode {
    const NAMES: &'static str = "episodes";

    fn fields(&self) -> Fields {
        Fields::default()
            .column("id", &self.id)
            .spare("workspace", &self.workspace)
            .spare("created", self.created_at)
            .spare("state", if self.open { "open" } else { "closed" })
            .detail("closed", self.closed_at)
            .column("problem", self.problem.as_str())
            .column("summary", self.summary.as_str())
            .detail("metadata", metadata(&self.metadata))
    }
}

impl Render for Note {
    const NAMES: &'static str = "notes";

    fn fields(&self) -> Fields {
        let sources: Vec<&str> = self.sources.iter().map(EpisodeId::as_str).collect();
        Fields::default()
            .column("id", &self.id)
            .spare("workspace", &self.workspace)
            .spare("created", self.created_at)
            .column("text", self.text.as_str())
            .detail("sources", (!sources.is_empty()).then(|| sources.join(", ")))
    }
}

impl Render for StateEntry {
    const NAMES: &'static str = "state entries";

    fn fields(&self) -> Fields {
        Fields::default()
            .spare("workspace", &self.workspace)
            .column("key", self.key.as_str())
            .spare("version", self.version)
            .detail("created", created_unless(self.created_at, self.updated_at))
            .spare("updated", self.updated_at)
            .spare("expires", self.expires_at)
            .column("value", Value::json(&self.value))
    }
}

impl Render for AuditRecord {
    const NAMES: &'static str = "audit records";

    fn fields(&self) -> Fields {
        Fields::default()
            .detail("id", &self.id)
            .spare("workspace", &self.workspace)
            .column("seq", self.seq)
            .spare("created", self.created_at)
            .column("action", self.action.as_str())
            .column("decision", self.decision.as_str())
            .column("detail", &self.detail)
            .detail("hash", self.hash)
    }
}

/// A record that recall found.
#[derive(Serialize)]
pub(crate) struct Found<T> {
    id: String,
    score: f64,
    record: T,
}

impl<T: Named> From<Hit<T>> for Found<T> {
    fn from(Hit { score, record }: Hit<T>) -> Self {
        Self { id: record.id().to_owned(), score, record }
    }
}

impl<T: Render> Render for Found<T> {
    const NAMES: &'static str = T::NAMES;

    fn fields(&self) -> Fields {
        Fields::default().column("score", self.score).followed_by(self.record.fields())
    }
}

use crate::{Record, Session};

/// How a record of a file compares with the one that the store has under its id.
pub(super) struct Judgement {
    /// Whether they are the same record, one of them changed since. Otherwise the id was taken by
    /// another.
    pub(super) same: bool,
    /// The fields in which they differ, derived ones left out.
    pub(super) differing: Vec<&'static str>,
}

macro_rules! differing {
    ($a:ident, $b:ident: $($field:ident),*) => {{
        let mut differing = Vec::new();
        $(if $a.$field != $b.$field {
            differing.push(stringify!($field));
        })*
        differing
    }};
}

/// Compares `ours` with `theirs`. What no op changes must be equal for them to be the same.
pub(super) fn judge(ours: &Record, theirs: &Record) -> Judgement {
    let (differing, fixed): (Vec<_>, &[&str]) = match (ours, theirs) {
        (Record::Session(a), Record::Session(b)) => {
            let differing = differing!(
                a, b: workspace, created_at, started_at, ended_at, model, mode, summary, metadata
            );
            if a.workspace == b.workspace && have_equal_first_rows(a, b) {
                return Judgement { same: true, differing };
            }
            (differing, &["workspace", "created_at", "started_at", "model", "mode", "metadata"])
        }
        (Record::Turn(a), Record::Turn(b)) => (
            differing!(
                a, b: workspace, session, created_at, index, role, content, model, tokens,
                embedding_id, metadata, tags
            ),
            &["workspace", "session", "created_at", "role", "content"],
        ),
        (Record::Step(a), Record::Step(b)) => (
            differing!(a, b: workspace, session, created_at, index, name, status, payload),
            &["workspace", "session", "created_at", "name", "status", "payload"],
        ),
        (Record::Episode(a), Record::Episode(b)) => {
            let differing =
                differing!(a, b: workspace, created_at, problem, summary, open, metadata);
            // Either text may have been revised; where both are others, so is the episode.
            if a.problem != b.problem && a.summary != b.summary {
                return Judgement { same: false, differing };
            }
            (differing, &["workspace", "created_at"])
        }
        (Record::Note(a), Record::Note(b)) => (
            differing!(a, b: workspace, created_at, text, sources),
            // The sources may have got other ids since, theirs being taken.
            &["workspace", "created_at", "text"],
        ),
        (Record::State(a), Record::State(b)) => {
            let differing = differing!(a, b: value);
            let changed_since = b.version > a.version || b.value.is_none();
            let same = differing.is_empty() || (a.created_at == b.created_at && changed_since);
            return Judgement { same, differing };
        }
        (Record::Audit(a), Record::Audit(b)) => (
            differing!(a, b: workspace, created_at, action, decision, detail),
            &["workspace", "created_at", "action", "decision", "detail"],
        ),
        _ => (vec!["kind"], &["kind"]),
    };
    let same = !differing.iter().any(|field| fixed.contains(field));
    Judgement { same, differing }
}

/// Whether both are sessions that an import made for rows without one, and for the same rows: the
/// first of a kind never changes, however a file grows.
fn have_equal_first_rows(a: &Session, b: &Session) -> bool {
    let first = |session: &Session, row| session.metadata.get("imported")?.get(row).cloned();
    ["first_turn", "first_step"]
        .into_iter()
        .any(|row| first(a, row).is_some_and(|id| first(b, row) == Some(id)))
}

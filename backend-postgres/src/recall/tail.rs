//! What has come since the index was written: records with later numbers, and what became of others.
//!
//! The index of a kind has come to the number that `recall_coverage` holds. When it did, all who had taken
//! numbers up to it had ended, so no record appears there any more. Whoever deletes or revises a record
//! notes in `recall_changes` what it was before, whether the index has come to it or not. Rows of a record
//! are in the order of `pk`, since its changes wait for each other. So in any state of the store the first
//! row of a record which the index has come to tells what it has of it; of later ones it has nothing. What
//! there is of a record now is in its own table.

use memkeep_core::{
    Error, RecordKind, Workspace,
    recall::{
        Analyzer, Document,
        index::{Analysed, Changes},
    },
};
use sqlx::{Row as _, postgres::PgRow};

use crate::{
    escape::{unescape, unescape_beginning},
    transaction::Attempt,
};

/// The columns of a form of a record.
const FORM: &str = "workspace, created_at, open, session, position, role, text, more";
/// How many they are.
const WIDTH: usize = 8;
/// The form of a record that the index has not come to.
const NONE: &str = "NULL::text, NULL::bigint, NULL::boolean, NULL::bigint, NULL::bigint, NULL::text, \
                    NULL::text, NULL::text";

/// About how many bytes of text are taken in at once.
const BYTES: usize = 32 << 20;

/// The table of the records of a kind.
pub(crate) fn table(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Episode => "episodes",
        RecordKind::Turn => "turns",
        _ => "notes",
    }
}

/// The form of a record, `r`.
fn form(kind: RecordKind) -> String {
    let no_turn = "NULL::bigint, NULL::bigint, NULL::text";
    let (open, turn, text, more) = match kind {
        RecordKind::Episode => ("r.open", no_turn, beginning("r.problem"), beginning("r.summary")),
        RecordKind::Turn => {
            ("FALSE", "r.session, r.position, r.role", beginning("r.content"), "NULL::text".into())
        }
        _ => ("FALSE", no_turn, beginning("r.text"), "NULL::text".into()),
    };
    format!(
        "(SELECT name FROM @workspaces WHERE pk = r.workspace), r.created_at, {open}, {turn}, \
         {text}, {more}"
    )
}

/// Recall reads no more of a text. To count characters takes longer than to read most texts whole.
fn beginning(text: &str) -> String {
    let most = 8 << 20;
    format!("CASE WHEN octet_length({text}) > {most} THEN left({text}, {most}) ELSE {text} END")
}

/// The statement that notes what records of a kind were, which are the rows `r` of `from`.
pub(crate) fn go(kind: RecordKind, from: &str) -> String {
    let (name, form) = (kind.as_str(), form(kind));
    format!(
        "INSERT INTO @recall_changes (kind, number, pk, {FORM}) \
         SELECT '{name}', r.pk, @NUMBER, {form} FROM {from}"
    )
}

/// The statement that notes what episodes were that become the rows `v`, if recall makes a difference.
pub(crate) fn revise_episodes(rows: &str) -> String {
    let insert = go(RecordKind::Episode, &format!("@episodes r JOIN {rows} ON r.id = v.id"));
    format!(
        "{insert} WHERE (r.open, r.problem, r.summary) IS DISTINCT FROM \
         (v.open, v.problem, v.summary)"
    )
}

/// How many bytes of text a record, `r`, has.
fn size(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Episode => "octet_length(r.problem) + octet_length(r.summary)",
        RecordKind::Turn => "octet_length(r.content)",
        _ => "octet_length(r.text)",
    }
}

/// The names of the columns of what there is now.
fn now() -> String {
    let now: Vec<_> = (0..WIDTH).map(|n| format!("f{n}")).collect();
    now.join(", ")
}

/// What goes before statements that read the tail. Whatever the statistics say of tables that grow and
/// shrink: their rows are in the order of their keys, and only the first or the last are read.
pub(super) const BY_KEY: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off";

/// How far the index of a kind has come; nothing if there is none.
pub(super) fn last(kind: RecordKind) -> String {
    format!("(SELECT last FROM @recall_coverage WHERE kind = '{}')", kind.as_str())
}

/// The statement that counts what has come, at most `limit` of records and of changes each; then how far
/// the index has come.
pub(super) fn count(kind: RecordKind, first: &str, limit: usize) -> String {
    let (name, table, last) = (kind.as_str(), table(kind), last(kind));
    format!(
        "SELECT {first}, (SELECT count(*) FROM \
         (SELECT 1 FROM @recall_changes WHERE kind = '{name}' LIMIT {limit}) AS c) + \
         (SELECT count(*) FROM (SELECT 1 FROM @{table} WHERE pk > {last} LIMIT {limit}) AS r), {last}"
    )
}

/// The statements that read the tail of a kind, at most `limit` records and changes of it each: what
/// [`Change::read`] takes, after the columns `first`. Only records of `workspace` are read, if it is
/// given: a text.
pub(super) fn select(
    kind: RecordKind,
    first: &str,
    limit: usize,
    workspace: Option<&str>,
) -> [String; 2] {
    let (table, form, last) = (table(kind), form(kind), last(kind));
    let pk = |name| format!("(SELECT pk FROM @workspaces WHERE name = {name})");
    let was = |name| format!("WHERE t.workspace = {name} OR n.home = {}", pk(name));
    let is = |name| format!("WHERE r.workspace = {}", pk(name));
    [
        format!(
            "WITH {} {}",
            first_changes(kind, limit),
            forms(kind, first, "t", &workspace.map_or_else(String::new, was))
        ),
        format!(
            "SELECT {first}, r.pk, NULL::bigint, {NONE}, r.workspace, {form} FROM \
             (SELECT * FROM @{table} WHERE pk > {last} ORDER BY pk LIMIT {limit}) AS r {}",
            workspace.map_or_else(String::new, is)
        ),
    ]
}

/// The statement that reads what became of records that the index has come to, of the first of them, up
/// to about [`BYTES`] of text.
pub(super) fn some_changes(kind: RecordKind, first: &str, limit: usize) -> String {
    let (table, size) = (table(kind), size(kind));
    // Nothing is joined: the planner does not know how little there is.
    format!(
        "WITH {}, s AS (SELECT t.*, octet_length(text) + coalesce(octet_length(more), 0) + \
         coalesce((SELECT {size} FROM @{table} r WHERE r.pk = t.number), 0) AS size FROM t), \
         p AS (SELECT s.*, sum(size) OVER (ORDER BY number) - size AS before FROM s) {}",
        first_changes(kind, limit),
        forms(kind, first, "p", &format!("WHERE t.before < {BYTES}")),
    )
}

/// A common table expression of what the first `limit` changes say that the index has, `t`.
fn first_changes(kind: RecordKind, limit: usize) -> String {
    let (name, last) = (kind.as_str(), last(kind));
    format!(
        "t AS (SELECT DISTINCT ON (number) number, \
         max(pk) OVER (PARTITION BY number) AS newest, {FORM} FROM @recall_changes \
         WHERE kind = '{name}' AND number <= (SELECT max(number) FROM (SELECT number \
         FROM @recall_changes WHERE kind = '{name}' AND number <= {last} \
         ORDER BY number, pk LIMIT {limit}) AS l) ORDER BY number, pk)"
    )
}

/// The statement that adds to these, `from`, what there is now.
fn forms(kind: RecordKind, first: &str, from: &str, only: &str) -> String {
    let (table, form, now) = (table(kind), form(kind), now());
    let removed: Vec<_> = FORM.split(", ").map(|column| format!("t.{column}")).collect();
    let removed = removed.join(", ");
    format!(
        "SELECT {first}, t.number, t.newest, {removed}, n.* FROM {from} t LEFT JOIN LATERAL \
         (SELECT r.workspace AS home, {form} FROM @{table} r WHERE r.pk = t.number OFFSET 0) \
         AS n(home, {now}) ON TRUE {only}"
    )
}

/// The statement that reads the records of a kind with numbers after `after` and before `below`, at most
/// `limit` of them and about [`BYTES`] of text, and which changes there are of those and of what was
/// deleted among them, in the same form. The first column says whether these are all.
pub(super) fn some_records(kind: RecordKind, after: i64, below: i64, limit: usize) -> String {
    let (name, table, form, size, now) =
        (kind.as_str(), table(kind), form(kind), size(kind), now());
    format!(
        "WITH p AS (SELECT pk, sum(size) OVER (ORDER BY pk) - size AS before FROM \
         (SELECT r.pk, {size} AS size FROM @{table} r WHERE r.pk > {after} AND r.pk < {below} \
         ORDER BY r.pk LIMIT {limit}) AS s), \
         n(number, home, {now}) AS (SELECT r.pk, r.workspace, {form} FROM p \
         JOIN @{table} r ON r.pk = p.pk WHERE p.before < {BYTES}), \
         e(is_all) AS (SELECT count(*) < {limit} AND count(*) = (SELECT count(*) FROM n) FROM p), \
         t AS (SELECT number, max(pk) AS newest FROM @recall_changes WHERE kind = '{name}' \
         AND number > {after} AND number < {below} AND ((SELECT is_all FROM e) \
         OR number <= (SELECT max(number) FROM n)) GROUP BY number) \
         SELECT (SELECT is_all FROM e), coalesce(n.number, t.number), t.newest, {NONE}, n.home, {now} \
         FROM n FULL JOIN t ON t.number = n.number ORDER BY 2"
    )
}

/// A form of a record.
#[derive(Debug)]
struct Form {
    workspace: Workspace,
    created_at: i64,
    open: bool,
    /// Session, index and role of a turn.
    turn: Option<((u64, u64), String)>,
    texts: Vec<String>,
}

/// What the index has of a record, and what there is of it.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) number: i64,
    /// The last of its rows in the table of changes, if there is one.
    pub(super) newest: Option<i64>,
    before: Option<Form>,
    now: Option<Form>,
}

impl Change {
    /// What a row says, from column `at` on.
    pub(super) fn read(kind: RecordKind, row: &PgRow, at: usize) -> Attempt<Self> {
        let (number, newest): (i64, _) = (row.try_get(at)?, row.try_get(at + 1)?);
        let (was, is) = (at + 2, at + 2 + WIDTH + 1);
        let had: Option<i64> = row.try_get(was + 1)?;
        let home: Option<i64> = row.try_get(is - 1)?;
        let form = |at| Form::read(kind, number, row, at);
        Ok(Self {
            number,
            newest,
            before: had.map(|_| form(was)).transpose()?,
            now: home.map(|_| form(is)).transpose()?,
        })
    }

    /// Whether there is a record.
    pub(super) fn is_there(&self) -> bool {
        self.now.is_some()
    }

    /// Adds what it is to the index of a kind to `changes`.
    pub(super) fn put(&self, kind: RecordKind, analyzer: &Analyzer, changes: &mut Changes) {
        let number = self.number.unsigned_abs();
        if let Some(before) = &self.before {
            changes.remove(before.analyse(kind, number, analyzer));
        }
        if let Some(now) = &self.now {
            changes.add(now.analyse(kind, number, analyzer));
        }
    }
}

impl Form {
    fn read(kind: RecordKind, number: i64, row: &PgRow, at: usize) -> Attempt<Self> {
        let broken = |what| Error::corrupt(table(kind), format!("pk {number}"), what);
        let workspace: Option<String> = row.try_get(at)?;
        let workspace =
            workspace.and_then(unescape).ok_or_else(|| broken("its workspace is not there"))?;
        let turn = match row.try_get::<Option<i64>, _>(at + 3)? {
            Some(session) => {
                let position: i64 = row.try_get(at + 4)?;
                let role = unescape(row.try_get(at + 5)?);
                let role = role.ok_or_else(|| broken("a text has a broken escape of U+0000"))?;
                Some(((session.unsigned_abs(), position.unsigned_abs()), role))
            }
            None => None,
        };
        let mut texts = Vec::new();
        for column in [at + 6, at + 7] {
            if let Some(text) = row.try_get::<Option<String>, _>(column)? {
                let text = unescape_beginning(text);
                texts.push(text.ok_or_else(|| broken("a text has a broken escape of U+0000"))?);
            }
        }
        Ok(Self {
            workspace: workspace.into(),
            created_at: row.try_get(at + 1)?,
            open: row.try_get(at + 2)?,
            turn,
            texts,
        })
    }

    fn analyse(&self, kind: RecordKind, number: u64, analyzer: &Analyzer) -> Analysed {
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        let document = Document {
            text: &texts,
            created_at: self.created_at,
            open: self.open,
            session: None,
            eligible: true,
        };
        let turn = self.turn.as_ref().map(|(place, role)| (*place, role.as_str()));
        Analysed::new(kind, number, &self.workspace, &document, turn, analyzer)
    }
}

//! Whether statements are plain SQL, but for what `docs/scale.md` lists.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use memkeep_postgres_testing::Server;

/// What any engine that speaks SQL knows (SQL-92), functions, types and operators among it.
const PLAIN: &str = "ADD ALL ALTER AND AS ASC BEGIN BETWEEN BY CASE COMMIT COMMITTED CREATE CROSS DELETE \
    DESC DISTINCT DROP ELSE END EXISTS FALSE FROM GROUP HAVING IN INDEX INNER INSERT INTO IS ISOLATION \
    JOIN KEY LEFT LEVEL LIKE NOT NULL ON ONLY OR ORDER OUTER PRIMARY READ REPEATABLE ROLLBACK SCHEMA \
    SELECT SET TABLE THEN TRUE UNION UNIQUE UPDATE VALUES WHEN WHERE WRITE \
    avg coalesce count extract max min octet_length position sum \
    = < > <= >= <> + - * / ||";

/// The document that lists what is relied upon.
const DOCUMENT: &str = include_str!("../../../docs/scale.md");

/// What may be used: plain words, and those of the document's list.
static ALLOWED: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let (_, rest) = DOCUMENT.split_once("## What is relied upon").expect("the list");
    let (list, _) = rest.split_once("\n## ").expect("what follows");
    let rows = list.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    // Every second piece of a cell is code.
    let code = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let words = PLAIN.split_whitespace().chain(code.flat_map(tokens));
    words.map(str::to_lowercase).collect()
});

/// Looks at what memkeep has sent to the shared server since the last time.
///
/// # Panics
/// If a statement uses what the document does not list.
pub(crate) fn check() {
    let statements = Server::shared().new_statements("memkeep");
    let more =
        statements.iter().flat_map(|sql| unlisted(sql).into_iter().map(move |word| (word, sql)));
    // Of a statement its beginning tells which it is.
    let more: BTreeMap<_, String> =
        more.map(|(word, sql)| (word, sql.chars().take(200).collect())).collect();
    assert!(more.is_empty(), "docs/scale.md does not list what these use: {more:#?}");
}

/// What a statement uses that is neither plain nor listed.
pub(crate) fn unlisted(statement: &str) -> Vec<&str> {
    used(statement).filter(|word| !ALLOWED.contains(&word.to_lowercase())).collect()
}

/// The keywords of a statement, which are in capitals, its functions, types and operators.
fn used(statement: &str) -> impl Iterator<Item = &str> {
    let tokens = tokens(statement);
    let makes_table = tokens.starts_with(&["CREATE", "TABLE"]);
    (0..tokens.len()).filter_map(move |at| {
        let [second, before] = [2, 1].map(|back| at.checked_sub(back).map_or("", |at| tokens[at]));
        let (token, next) = (tokens[at], tokens.get(at + 1).copied().unwrap_or_default());
        let is_used = if is_word(token) {
            let is_keyword = token == token.to_uppercase();
            // What is in a schema, or gets a name here, is memkeep's own.
            let is_called = next == "("
                && !matches!(before, "." | "AS" | "INTO")
                && !is_expression(&tokens[at + 1..]);
            let is_column = makes_table && matches!(second, "(" | ",") && is_word(before);
            is_keyword || is_called || before == "::" || is_column
        } else {
            token.starts_with(is_operator)
        };
        is_used.then_some(token)
    })
}

/// Whether the columns of a common table expression come here, and then what it is.
fn is_expression(tokens: &[&str]) -> bool {
    let end = tokens.iter().position(|token| *token == ")");
    end.is_some_and(|end| tokens[end + 1..].starts_with(&["AS", "("]))
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn is_operator(c: char) -> bool {
    "+-*/<>=~!@#%^&|`?:".contains(c)
}

/// The words, operators and marks of a statement; literals, parameters and quoted names as one mark each.
fn tokens(statement: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), statement.trim_start());
    while let Some(first) = rest.chars().next() {
        let all = |is_of: fn(char) -> bool| rest.find(|c| !is_of(c)).unwrap_or(rest.len());
        let length = match first {
            // One that is doubled stands for itself, and begins another literal here: no matter.
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            'E' if rest.starts_with("E'") => 1,
            _ if is_operator(first) => all(is_operator),
            _ if first.is_alphanumeric() || "_$".contains(first) => {
                all(|c| c.is_alphanumeric() || "_$".contains(c))
            }
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        if !rest.starts_with("E'") {
            tokens.push(token);
        }
        rest = after.trim_start();
    }
    tokens
}

//! Hostile text: what has broken a store, a parser or a terminal somewhere.

use std::collections::{BTreeMap, HashSet};

use memkeep_core::{
    Batch, FindTurns, ListStates, NewEpisode, NewNote, NewSession, NewTurn, Op, PutState,
    RecallQuery, SessionId, recall::Scorer,
};
use serde_json::json;

use super::sample::{Sample, read_all};
use crate::{Case, Verdict, failure::must_equal};

const SHORT: &[&str] = &[
    // White space, and ends of lines.
    "",
    " ",
    "\t\r\n",
    " leading",
    "trailing ",
    "\r",
    "a\r\nb",
    "\u{85}",
    "\u{2028}\u{2029}",
    "\u{a0}",
    "\u{3000}",
    // U+0000, and the low characters that an escape of it may use.
    "\0",
    "\0a",
    "a\0",
    "a\0b",
    "a\0c",
    "a\0\0b",
    "\u{1}",
    "\u{1}\u{1}",
    "\u{1}\u{2}",
    "\0\u{1}",
    "\u{1}\0",
    "\0\u{ff}",
    "\u{ff}",
    // Marks without a letter, joiners, invisible characters.
    "\u{301}",
    "\u{301}\u{302}a",
    "\u{20e3}\u{fe0f}",
    "\u{200d}",
    "a\u{200d}b",
    "a\u{200b}b",
    "\u{ad}",
    "\u{2060}",
    // The direction of writing.
    "\u{202e}gpj.exe",
    "\u{2066}a\u{2069}",
    "\u{200f}\u{200e}",
    "שלום abc",
    "مرحبا",
    // Byte order marks, noncharacters, the ends of planes, neighbours of surrogates.
    "\u{feff}",
    "\u{feff}a",
    "a\u{feff}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{fdd0}",
    "\u{fffd}",
    "\u{d7ff}\u{e000}",
    "\u{10000}",
    "\u{1fffe}",
    "\u{10ffff}",
    "\u{10ffff}\u{10ffff}",
    "\u{e0001}\u{e0020}",
    "😬",
    "👩\u{200d}👩\u{200d}👧",
    "𝕬𝖇",
    "🇩🇪🇫🇷",
    // The same to a reader, not the same text.
    "é",
    "e\u{301}",
    "Å",
    "A\u{30a}",
    "\u{212b}",
    "ﬁ",
    "fi",
    "가",
    "\u{1100}\u{1161}",
    "ａ",
    "\u{2126}",
    "Ω",
    // Letters whose case is no simple matter.
    "İ",
    "i\u{307}",
    "ı",
    "ß",
    "ẞ",
    "ſ",
    "\u{212a}",
    "ς",
    "Σ",
    "ǅ",
    "Key",
    "key",
    "KEY",
    "key ",
    // SQL.
    "'",
    "''",
    "\"",
    "\"\"",
    "`",
    "\\",
    "\\'",
    "'; DROP TABLE turns; --",
    "x') OR 1=1--",
    "--",
    "/*",
    "*/",
    ";",
    "?",
    "?1",
    ":x",
    "@x",
    "$1",
    "$$",
    "NULL",
    "null",
    "0",
    "1",
    "01",
    "1.0",
    "-1",
    "1e3",
    "0x10",
    "true",
    "9223372036854775808",
    "x'00'",
    "E'\\x00'",
    "[x]",
    "rowid",
    "default",
    // LIKE and GLOB.
    "%",
    "_",
    "100%",
    "a_b",
    "axb",
    "a%b",
    "\\%",
    "\\_",
    "*",
    "a*",
    "[a-z]",
    "[!a]",
    // Full-text queries.
    "AND",
    "OR",
    "NOT",
    "NEAR(",
    "a NEAR/2 b",
    "content:x",
    "^a",
    "\"open",
    "(",
    ")",
    "{a b}: c",
    "-a",
    "+a",
    "a AND NOT",
    "a-b",
    "x:y",
    "don't",
    "GB/s",
    "(MoMA)",
    // JSON and its paths.
    "{",
    "}",
    "{\"a\":1}",
    "[1,2]",
    "\\u0000",
    "\\u0041",
    "\\ud800",
    "$.a",
    "$[0]",
    "a.b",
    "/a~1b",
    "a->>'b'",
    "#-",
    // Regular expressions.
    ".*",
    "(a+)+$",
    "[",
    "^$",
    "(?i)a",
    "a|b",
    "\\d",
    "a{1,99999}",
    "(?<n>",
    // Control characters and terminals.
    "\u{1b}[31mred\u{1b}[0m",
    "\u{1b}]0;title\u{7}",
    "\u{8}\u{8}",
    "\u{7f}",
    "\u{9b}31m",
    "\u{1a}",
    "\u{1e}\u{1f}",
    // Percent-encodings and entities.
    "%00",
    "%2F",
    "%252F",
    "%zz",
    "a%20b",
    "a+b",
    "&amp;",
    "&#0;",
    "=?utf-8?q?=00?=",
    // Paths and URLs.
    "/",
    ".",
    "..",
    "../../etc/passwd",
    "a/b",
    "a//b",
    "a/../b",
    "a\\b",
    "C:\\Windows",
    "\\\\host\\share",
    "~",
    "~root",
    "CON",
    "file:///a",
    ":memory:",
    "sqlite:a.db",
    "a?b#c",
    // Format strings, templates, shells, markup.
    "%s%n%x",
    "{}",
    "{0}",
    "{:?}",
    "{{x}}",
    "${HOME}",
    "$(id)",
    "`id`",
    "#{x}",
    "<script>alert(1)</script>",
    "]]>",
    "=1+1",
    // Names that begin with one another, and separators of keys.
    "acme",
    "acme-corp",
    "acme:",
    ":",
    "a:b",
    "a|b",
    "a\u{1f}b",
    "a,b",
    "a;b",
];

/// All hostile texts, each once.
pub(crate) fn texts() -> Vec<String> {
    let controls = (1..=0x9f).filter_map(char::from_u32).filter(|c| c.is_control());
    // Letters without a pattern, so that no page of keys can shorten the name.
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'!' + u8::try_from((state >> 40) % 90).unwrap_or(0))
    };
    let long = [
        controls.collect(),
        "\0".repeat(1_024),
        "\0".repeat(10_291),
        "\u{1}".repeat(1_024),
        (0..1_024).map(|_| letter()).collect(),
        "é".repeat(512),
        "😬".repeat(256),
        format!("a{}", "\u{301}".repeat(500)),
        format!("{}\0end", "a".repeat(255)),
        format!("{}b", "a".repeat(1_023)),
        format!("{}c", "a".repeat(1_023)),
        "(".repeat(1_000),
        "[".repeat(5_000),
        "\"".repeat(5_000),
        "a very long line ".repeat(8_000),
        "\n".repeat(20_000),
        "unbroken".repeat(16_000),
    ];
    let mut seen = HashSet::new();
    let all = SHORT.iter().map(|text| (*text).to_owned()).chain(long);
    all.filter(|text| seen.insert(text.clone())).collect()
}

/// Those that may be a name: an id, a key, a workspace, a role, a tag.
pub(crate) fn names() -> Vec<String> {
    texts().into_iter().filter(|text| is_name(text)).collect()
}

fn is_name(text: &str) -> bool {
    (1..=1_024).contains(&text.len())
}

/// A hostile text in every place of a record that takes it.
fn samples() -> Vec<Sample> {
    Sample::each(texts(), |sample, text| {
        if is_name(&text) {
            sample.name.clone_from(&text);
        }
        let inner = BTreeMap::from([(&text, [&text])]);
        sample.json = json!({ &text: inner, "list": [&text] });
        sample.text = text;
    })
}

pub(crate) async fn everywhere(case: &mut Case) -> Verdict {
    let samples = samples();
    for sample in &samples {
        sample.write(case).await?;
    }
    read_all(case, &samples).await
}

pub(crate) async fn idempotency_keys(case: &mut Case) -> Verdict {
    let backend = case.backend();
    let batches: Vec<Batch> = names()
        .into_iter()
        .enumerate()
        .map(|(n, name)| Batch::from(PutState::new(format!("{n}"), json!(n))).key(name))
        .collect();
    let mut receipts = Vec::new();
    for batch in &batches {
        receipts.push(backend.commit(batch.clone()).await?);
    }
    for (batch, receipt) in batches.into_iter().zip(receipts) {
        let key = batch.key.clone();
        must_equal!(backend.commit(batch).await?, receipt, "the receipt under the key {key:?}");
    }
    Ok(())
}

pub(crate) async fn prefixes(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let mut names = names();
    let puts = names.iter().map(|name| PutState::new(&name[..], json!(0)));
    case.backend().commit(puts.collect()).await?;
    names.sort_unstable();
    let listed = |prefix: &str| ListStates::new().scope("default").prefix(prefix);
    for prefix in &names {
        let keys = store.states(&listed(prefix)).await?.items;
        let keys: Vec<&str> = keys.iter().map(|entry| &entry.key[..]).collect();
        let right: Vec<&str> =
            names.iter().map(|name| &name[..]).filter(|name| name.starts_with(prefix)).collect();
        must_equal!(keys, right, "the keys that start with {prefix:?}");
    }
    Ok(())
}

const SCORERS: [Scorer; 3] = [Scorer::Overlap, Scorer::Bm25, Scorer::Context];

/// A question with the text in it, and a word that makes it findable.
fn question(number: usize, text: &str) -> String {
    format!("needle{number} {text}")
}

/// Texts, each with a number and a name of its own.
fn named() -> impl Iterator<Item = (usize, String, String)> {
    texts().into_iter().enumerate().map(|(n, text)| {
        let name = if is_name(&text) { text.clone() } else { format!("name {n}") };
        (n, name, text)
    })
}

pub(crate) async fn episode_queries(case: &mut Case) -> Verdict {
    let store = case.episodic()?;
    for (n, name, text) in named() {
        let new = NewEpisode::new(question(n, &text), "").id(&name[..]).workspace(&name[..]);
        store.add_episode(new).await?;
        for scorer in [Scorer::Overlap, Scorer::Bm25] {
            let query = RecallQuery::new(question(n, &text)).scorer(scorer).scope(&name[..]);
            let hits = store.recall(&query).await?;
            let ids: Vec<&str> = hits.iter().map(|hit| hit.record.id.as_str()).collect();
            must_equal!(ids, [&name[..]], "what {scorer:?} finds by an episode's own words");
            let query = RecallQuery::new(&text[..]).scorer(scorer).scope(&name[..]);
            store.recall(&query).await?;
        }
    }
    Ok(())
}

pub(crate) async fn note_queries(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    for (n, name, text) in named() {
        let new = NewNote::new(question(n, &text)).id(&name[..]).workspace(&name[..]);
        store.add_note(new).await?;
        for scorer in [Scorer::Overlap, Scorer::Bm25] {
            let query = RecallQuery::new(question(n, &text)).scorer(scorer).scope(&name[..]);
            let hits = store.recall_notes(&query).await?;
            let ids: Vec<&str> = hits.iter().map(|hit| hit.record.id.as_str()).collect();
            must_equal!(ids, [&name[..]], "what {scorer:?} finds by a note's own words");
            let query = RecallQuery::new(&text[..]).scorer(scorer).scope(&name[..]);
            store.recall_notes(&query).await?;
        }
    }
    Ok(())
}

/// A turn with the text in it, in a workspace and a session, of a role and with a tag that are
/// hostile too.
fn hostile_turn(n: usize, name: &str, text: &str) -> Batch {
    let turn = NewTurn::new(name, name, question(n, text)).id(name);
    Batch::new()
        .with(Op::StartSession(NewSession::new().id(name).workspace(name)))
        .with(turn.tags(BTreeMap::from([(name.to_owned(), None)])))
}

pub(crate) async fn turn_queries(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    for (n, name, text) in named() {
        case.backend().commit(hostile_turn(n, &name, &text)).await?;
        store.record_turn(NewTurn::new(&name[..], "another", question(n, ""))).await?;
        for scorer in SCORERS {
            let query = RecallQuery::new(question(n, &text)).scorer(scorer).scope(&name[..]);
            let filtered = [
                query.clone().role(name.clone()),
                query.clone().tag(name.clone()).session(SessionId::from(&name[..])),
            ];
            for query in filtered {
                let hits = store.recall_turns(&query).await?;
                let ids: Vec<&str> = hits.iter().map(|hit| hit.record.id.as_str()).collect();
                must_equal!(ids, [&name[..]], "what {scorer:?} finds by a turn's own words");
            }
            let query = RecallQuery::new(&text[..]).scorer(scorer).scope(&name[..]);
            store.recall_turns(&query).await?;
        }
    }
    Ok(())
}

pub(crate) async fn substrings(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    for (n, name, text) in named() {
        case.backend().commit(hostile_turn(n, &name, &text)).await?;
        if text.is_empty() {
            continue;
        }
        let find = FindTurns::new(&text[..]).role(name.clone()).scope(&name[..]);
        let found = store.find_turns(&find).await?;
        let found: Vec<&str> = found.iter().map(|turn| turn.id.as_str()).collect();
        must_equal!(found, [&name[..]], "what {text:?} finds in its workspace");
    }
    Ok(())
}

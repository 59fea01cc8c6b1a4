//! Writes first inputs for the fuzz targets, from the fixtures of the tests: `cargo run --example seeds`.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use memkeep::{
    Batch, ImportOptions, Json,
    decide::{Change, Loaded, decide},
    import,
};
use memkeep_fuzz::{batches, dump, inmem, now, run};
use rusqlite::{Connection, MAIN_DB};
use serde::Deserialize as _;

/// How many rows of a table, or lines of a kind, a seed has.
const ROWS: usize = 3;

/// What JSON has besides strings.
const OTHERS: [&str; 8] =
    ["null", "true", "{}", "[]", "-0.0", "1e308", "18446744073709551615", "-9223372036854775808"];

fn main() -> Result<(), Box<dyn Error>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    for name in ["muse", "velune"] {
        let path = fixtures.join(format!("{name}_small.db"));
        databases(name, &path)?;
        lines(name, &path)?;
    }
    ops()?;
    values()
}

fn write(target: &str, name: &str, bytes: impl AsRef<[u8]>) -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "corpus", target].iter().collect();
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(name), bytes)?)
}

/// A small copy of the fixture: each table alone, with its first rows.
fn databases(name: &str, fixture: &Path) -> Result<(), Box<dyn Error>> {
    let source = Connection::open(fixture)?;
    let sql =
        "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'";
    let mut statement = source.prepare(sql)?;
    let tables = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let tables: BTreeMap<String, String> = tables.collect::<Result<_, _>>()?;
    let mut seed = Connection::open_in_memory()?;
    seed.execute_batch("PRAGMA page_size = 512; PRAGMA foreign_keys = OFF")?;
    seed.execute("ATTACH ?1 AS source", [fixture.to_str()])?;
    for (table, sql) in &tables {
        seed.execute_batch(sql)?;
        seed.execute_batch(&format!(
            "INSERT INTO {table} SELECT * FROM source.{table} ORDER BY rowid LIMIT {ROWS}"
        ))?;
    }
    seed.execute_batch("DETACH source")?;
    write("import_database", name, &*seed.serialize(MAIN_DB)?)
}

/// An export of the fixture, with the first lines of each kind.
fn lines(name: &str, fixture: &Path) -> Result<(), Box<dyn Error>> {
    let export = run(async {
        let store = inmem().await;
        import(store.as_ref(), fixture, ImportOptions::new()).await?;
        Ok::<_, memkeep::Error>(dump(&store).await)
    })?;
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut short = vec![r#"{"memkeep_export":1}"#.to_owned()];
    let mut sessions = BTreeSet::new();
    for line in export.lines() {
        let record: Json = serde_json::from_str(line)?;
        let Some(kind) = record["kind"].as_str() else { continue };
        let is_placed = record.get("session").is_none_or(|id| sessions.contains(&id.to_string()));
        let count = kinds.entry(kind.to_owned()).or_default();
        if !is_placed || *count == ROWS {
            continue;
        }
        *count += 1;
        if kind == "session" {
            sessions.insert(record["id"].to_string());
        }
        write("json", &format!("record-{name}-{kind}-{count}"), format!("\u{2}{line}"))?;
        if kind == "state" {
            // Null is a value too.
            let null = Json::Object(record.as_object().into_iter().flatten().map(nulled).collect());
            write("json", &format!("record-{name}-null-{count}"), format!("\u{2}{null}"))?;
        }
        short.push(line.to_owned());
    }
    let records = short.len() - 1;
    short.push(format!(r#"{{"memkeep_export_end":{records}}}"#));
    write("import_lines", name, short.join("\n"))
}

fn nulled((key, value): (&String, &Json)) -> (String, Json) {
    (key.clone(), if key == "value" { Json::Null } else { value.clone() })
}

/// Ops of each kind, and the words of their JSON.
fn ops() -> Result<(), Box<dyn Error>> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random.to_le_bytes()
    };
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut words = BTreeSet::new();
    for n in 0..64 {
        let bytes: Vec<u8> = (0..32).flat_map(|_| next()).collect();
        write("batches", &format!("random-{n}"), &bytes)?;
        for batch in batches(&bytes)? {
            changes(&batch, &mut kinds)?;
            for op in batch["ops"].as_array().into_iter().flatten() {
                gather(op, &mut words);
                let name = op["op"].as_str().unwrap_or_default();
                let count = kinds.entry(name.to_owned()).or_default();
                *count += 1;
                if *count <= ROWS {
                    write("json", &format!("{name}-{count}"), format!("\u{1}{op}"))?;
                }
            }
        }
    }
    let words = words.iter().map(|word| format!("\"\\\"{word}\\\"\"\n"));
    let others = OTHERS.iter().map(|word| format!("\"{word}\"\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("json.dict");
    Ok(fs::write(path, words.chain(others).collect::<String>())?)
}

/// What a batch changes in an empty store, if it is not refused.
fn changes(batch: &Json, kinds: &mut BTreeMap<String, usize>) -> Result<(), Box<dyn Error>> {
    let prepared = Batch::deserialize(batch)?.prepare();
    let decided = prepared.and_then(|prepared| decide(&prepared, Loaded::default(), now()));
    for change in decided.map(|decision| decision.changes).unwrap_or_default() {
        let json = serde_json::to_value(&change)?;
        let name = json.as_object().and_then(|object| object.keys().next()).cloned();
        let name = name.unwrap_or_default();
        let count = kinds.entry(name.clone()).or_default();
        *count += 1;
        if *count > ROWS {
            continue;
        }
        write("json", &format!("change-{name}-{count}"), format!("\u{3}{json}"))?;
        if let Change::PutReceipt(receipt) = &change {
            let receipt = serde_json::to_string(receipt)?;
            write("json", &format!("receipt-{count}"), format!("\u{4}{receipt}"))?;
        }
    }
    Ok(())
}

/// The keys of objects, and the words that tell what they are.
fn gather(value: &Json, words: &mut BTreeSet<String>) {
    let is_word = |text: &str| {
        (2..=20).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    };
    for (key, value) in value.as_object().into_iter().flatten() {
        words.extend(Some(key).filter(|key| is_word(key)).cloned());
        if matches!(key.as_str(), "op" | "kind" | "expected") {
            words.extend(value.as_str().map(str::to_owned));
        }
        gather(value, words);
    }
}

/// One for each pair of the store that is damaged: see the target.
fn values() -> Result<(), Box<dyn Error>> {
    for what in [0, 2, 5] {
        for pair in 0..=u8::MAX {
            write("kv_values", &format!("{what}-{pair}"), [what, 0, pair, 3, 2, 1, 1])?;
        }
    }
    Ok(())
}

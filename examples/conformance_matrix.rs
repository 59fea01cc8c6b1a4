//! Runs the conformance suite on the backends of this repository and writes what came of it to
//! `docs/conformance.md`:
//!
//! ```sh
//! cargo run --release --example conformance_matrix              # writes the file
//! cargo run --example conformance_matrix -- --check             # fails where it would change
//! cargo run --release --example conformance_matrix -- --json    # prints all that is known
//! ```
//!
//! `--check` runs no clause, since the tests do: it takes them to pass. Needs PostgreSQL to be installed.

use std::{fs, io, path::Path, process::ExitCode};

use memkeep_conformance::{Matrix, Report};

#[path = "../backend-inmem/tests/conformance.rs"]
mod inmem;
#[path = "../backend-postgres/tests/conformance.rs"]
mod postgres;
#[path = "../backend-redb/tests/conformance.rs"]
mod redb;
#[path = "../backend-sqlite/tests/conformance.rs"]
mod sqlite;

const HEADER: &str = "\
# Conformance

What the suite of `memkeep-conformance` came to on each backend. A level is granted if every clause of
it ran and passed; a clause that could not run is a gap. Written by
`cargo run --release --example conformance_matrix`.

";

fn main() -> io::Result<ExitCode> {
    inmem::conformance::child_if_asked();
    postgres::conformance::child_if_asked();
    redb::conformance::child_if_asked();
    sqlite::conformance::child_if_asked();

    let asked = std::env::args().nth(1);
    let is_check = asked.as_deref() == Some("--check");
    let of = |run: fn() -> Report, expect: fn() -> Report| if is_check { expect() } else { run() };
    let reports = [
        of(inmem::conformance::report, inmem::conformance::expected),
        of(postgres::conformance::report, postgres::conformance::expected),
        of(redb::conformance::report, redb::conformance::expected),
        of(sqlite::conformance::report, sqlite::conformance::expected),
    ];
    let failed = reports.iter().any(|report| report.failures().next().is_some());
    let matrix: Matrix = reports.into_iter().collect();
    if asked.as_deref() == Some("--json") {
        println!("{}", matrix.json());
        return Ok(ExitCode::from(u8::from(failed)));
    }

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/conformance.md");
    let text = format!("{HEADER}{}", matrix.markdown());
    if !is_check {
        print!("{}", matrix.text());
        fs::write(file, text)?;
    } else if fs::read_to_string(file)? != text {
        eprintln!("docs/conformance.md is not what the suite says now: write it again");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::from(u8::from(failed)))
}

//! The rules of the contract and the clauses that test them name each other.

use std::{collections::BTreeSet, fs, path::Path};

use memkeep_conformance::CLAUSES;

/// All of the sources below `folder`.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn each_clause_stands_in_the_documentation_and_no_other() {
    let mut text = String::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("memory-core/src"), &mut text);
    let is_id = |word: &&str| {
        word.rsplit_once('-').is_some_and(|(area, number)| {
            number.len() == 2
                && number.bytes().all(|b| b.is_ascii_digit())
                && area.contains('-')
                && area.bytes().all(|b| b.is_ascii_uppercase() || b == b'-')
        })
    };
    let named: BTreeSet<&str> = text.split('`').filter(is_id).collect();
    let clauses: BTreeSet<&str> = CLAUSES.iter().map(|clause| clause.id).collect();
    assert_eq!(clauses.len(), CLAUSES.len(), "an id is used twice");
    assert_eq!(named, clauses);
}

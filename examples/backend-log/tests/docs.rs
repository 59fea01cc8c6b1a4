//! The code in `docs/` is the code of the examples.

use std::{fs, path::Path};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines without what they are indented by.
fn flush_left<'t>(lines: impl IntoIterator<Item = &'t str>) -> String {
    lines.into_iter().flat_map(|line| [line.trim(), "\n"]).collect()
}

/// The blocks of a language in a page.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let page = read(page);
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1).map(|rest| {
        let (block, _) = rest.split_once("\n```").expect("a block ends");
        flush_left(block.lines())
    });
    let blocks: Vec<_> = blocks.collect();
    assert!(!blocks.is_empty(), "the page shows {language}");
    blocks
}

/// The sources of both examples.
fn sources() -> String {
    let folders =
        ["backend-fjall/src", "backend-fjall/tests", "backend-log/src", "backend-log/tests"];
    let mut sources = String::new();
    for folder in folders {
        for file in fs::read_dir(root().join("examples").join(folder)).unwrap() {
            sources += &flush_left(read(file.unwrap().path()).lines());
        }
    }
    sources
}

#[test]
fn the_code_shown_is_the_code_there() {
    let sources = sources();
    let pages = [
        ("docs/write-a-backend.md", "rust"),
        ("docs/run-the-suite.md", "rust"),
        // Not a test of the documentation, which would want a `main` in it.
        ("conformance/README.md", "rust,ignore"),
    ];
    for (page, language) in pages {
        for block in blocks(page, language) {
            assert!(sources.contains(&block), "{page}: this is in no example:\n{block}");
        }
    }
}

#[test]
fn the_workflow_shown_is_the_file_there() {
    let file = flush_left(read("docs/conformance-workflow.yml").lines());
    assert_eq!(blocks("docs/run-the-suite.md", "yaml"), [file]);
}

#[test]
fn the_length_is_what_the_page_says() {
    for (example, most) in [("backend-fjall", 250), ("backend-log", 800)] {
        let folder = root().join("examples").join(example).join("src");
        let files = fs::read_dir(folder).unwrap().map(|file| read(file.unwrap().path()));
        let lines: usize = files.map(|text| text.lines().count()).sum();
        assert!(lines <= most, "{example} has {lines} lines of source, {most} are promised");
    }
}

//! The code in `docs/` is the code of the examples.

use std::{fs, path::Path};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The blocks of a language in a page.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let page = read(page);
    let (fence, mut blocks, mut block) = (format!("```{language}"), Vec::new(), None::<String>);
    for line in page.lines() {
        match &mut block {
            None if line == fence => block = Some(String::new()),
            None => {}
            Some(_) if line == "```" => blocks.extend(block.take()),
            Some(text) => *text += &format!("{}\n", line.trim()),
        }
    }
    assert!(block.is_none() && !blocks.is_empty(), "{language} in a page without end");
    blocks
}

/// The sources of both examples, without what the lines are indented by.
fn sources() -> String {
    let folders = ["backend-fjall/src", "backend-fjall/tests", "backend-log/src", "backend-log/tests"];
    let mut sources = String::new();
    for folder in folders {
        for file in fs::read_dir(root().join("examples").join(folder)).unwrap() {
            for line in read(file.unwrap().path()).lines() {
                sources += &format!("{}\n", line.trim());
            }
        }
    }
    sources
}

#[test]
fn the_code_shown_is_the_code_there() {
    let sources = sources();
    for page in ["docs/write-a-backend.md", "docs/run-the-suite.md"] {
        for block in blocks(page, "rust") {
            assert!(sources.contains(&block), "{page}: this is in no example:\n{block}");
        }
    }
}

#[test]
fn the_workflow_shown_is_the_file_there() {
    let file: String = read("docs/conformance-workflow.yml").lines().fold(
        String::new(),
        |text, line| text + line.trim() + "\n",
    );
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

use super::*;

fn clause(id: &'static str, part: Part) -> Clause {
    let rule = "A rule with a | in it.";
    Clause { id, rule, part, need: Need::Fresh, test: |_| Box::pin(async { Ok(()) }) }
}

fn report(backend: &str, results: &[(&'static str, Part, Outcome)]) -> Report {
    let results = results.iter().map(|(id, part, outcome)| (clause(id, *part), outcome.clone()));
    Report { backend: backend.to_owned(), results: results.collect() }
}

fn failed() -> Outcome {
    Outcome::Failed("T-1: the rule\n\nexpected  1\n  actual  2".to_owned())
}

fn gap() -> Outcome {
    Outcome::Gap("kill: volatile".to_owned())
}

fn levels(report: &Report) -> Vec<Level> {
    Level::ALL.into_iter().filter(|level| report.grants(*level)).collect()
}

#[test]
fn no_clause_is_no_level() {
    assert_eq!(levels(&report("none", &[])), []);
    assert_eq!(levels(&report("any", &[("B-1", Part::Any, Outcome::Passed)])), []);
    let sessions_only = report("some", &[("T-1", Part::Sessions, Outcome::Passed)]);
    assert_eq!(levels(&sessions_only), [Level::Sessions, Level::Full]);
}

#[test]
fn a_failure_or_a_gap_withholds_its_level_and_the_full_one() {
    for lack in [failed(), gap()] {
        let rows = [
            ("E-1", Part::Episodic, Outcome::Passed),
            ("T-1", Part::Sessions, Outcome::Passed),
            ("T-2", Part::Sessions, lack.clone()),
            ("R-1", Part::Reflective, Outcome::Passed),
        ];
        assert_eq!(levels(&report("some", &rows)), [Level::Episodic, Level::Reflective]);
        let any = [("E-1", Part::Episodic, Outcome::Passed), ("B-1", Part::Any, lack.clone())];
        assert_eq!(levels(&report("some", &any)), []);
        let all =
            [("R-1", Part::Reflective, Outcome::Passed), ("A-1", Part::EpisodicReflective, lack)];
        assert_eq!(levels(&report("some", &all)), [Level::Reflective]);
    }
}

fn two() -> Matrix {
    let one = [("T-1", Part::Sessions, Outcome::Passed), ("K-1", Part::Sessions, gap())];
    let other = [("T-1", Part::Sessions, failed()), ("K-1", Part::Sessions, Outcome::Passed)];
    [report("one", &one), report("other", &other)].into_iter().collect()
}

#[test]
fn markdown_is_a_matrix_without_what_differs_between_runs() {
    let expected = "\
## Levels

| level | one | other |
|---|---|---|
| episodic | – | – |
| sessions | – | – |
| reflective | – | – |
| full | – | – |

## Clauses

| clause | one | other | rule |
|---|---|---|---|
| `T-1` | ✓ | failed | A rule with a \\| in it. |
| `K-1` | gap | ✓ | A rule with a \\| in it. |

## Gaps

| backend | reason | clauses |
|---|---|---|
| one | kill: volatile | `K-1` |
";
    assert_eq!(two().markdown(), expected);
}

#[test]
fn text_names_gaps_and_shows_failures_whole() {
    let expected = "\
one: 1 passed, 0 failed, 1 gaps
  levels  none
  gap     kill: volatile: K-1
other: 1 passed, 1 failed, 0 gaps
  levels  none

T-1: the rule

expected  1
  actual  2
";
    assert_eq!(two().text(), expected);
}

#[test]
fn json_has_levels_outcomes_and_reasons() {
    let json: serde_json::Value = serde_json::from_str(&two().json()).unwrap();
    let one = &json["backends"][0];
    assert_eq!(one["levels"], serde_json::json!([]));
    assert_eq!(one["clauses"][1]["id"], "K-1");
    assert_eq!(one["clauses"][1]["outcome"], "gap");
    assert_eq!(one["clauses"][1]["why"], "kill: volatile");
    assert_eq!(json["backends"][1]["clauses"][0]["outcome"], "failed");
}

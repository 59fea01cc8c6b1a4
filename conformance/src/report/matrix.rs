use std::fmt::Write;

use serde::Serialize;

use super::{Level, Outcome, Report};
use crate::Clause;

/// Reports of several backends side by side: clauses × backends.
///
/// Nothing in it depends on when or where it was made, unless a clause failed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Matrix {
    /// The reports, a column each.
    pub backends: Vec<Report>,
}

impl FromIterator<Report> for Matrix {
    fn from_iter<I: IntoIterator<Item = Report>>(reports: I) -> Self {
        Self { backends: reports.into_iter().collect() }
    }
}

impl From<Report> for Matrix {
    fn from(report: Report) -> Self {
        Self { backends: vec![report] }
    }
}

impl Matrix {
    /// For a terminal: the levels, the gaps, and what failed with everything that is known of it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for report in &self.backends {
            let count = |of: &str| report.results.iter().filter(|(_, o)| o.as_str() == of).count();
            let levels: Vec<&str> = granted(report).map(Level::as_str).collect();
            let levels = if levels.is_empty() { "none".to_owned() } else { levels.join(", ") };
            let (passed, failed, gaps) = (count("passed"), count("failed"), count("gap"));
            let backend = &report.backend;
            line(&mut text, &format!("{backend}: {passed} passed, {failed} failed, {gaps} gaps"));
            line(&mut text, &format!("  levels  {levels}"));
            for (reason, ids) in gaps_by_reason(report) {
                line(&mut text, &format!("  gap     {reason}: {}", ids.join(", ")));
            }
            for (_, failure) in report.failures() {
                line(&mut text, &format!("\n{}", failure.trim_end()));
            }
        }
        text
    }

    /// All that is known, as JSON.
    pub fn json(&self) -> String {
        // Strings, lists and unit variants only: nothing that JSON could refuse.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// For a document: levels, clauses × backends, and the gaps with their reasons.
    pub fn markdown(&self) -> String {
        let names = || self.backends.iter().map(|report| report.backend.clone());
        let mut text = String::from("## Levels\n\n");
        row(&mut text, "level", names());
        rule(&mut text, self.backends.len());
        for level in Level::ALL {
            let cells = self.backends.iter().map(|report| mark(report.grants(level)).to_owned());
            row(&mut text, level.as_str(), cells);
        }

        text.push_str("\n## Clauses\n\n");
        row(&mut text, "clause", names().chain(["rule".to_owned()]));
        rule(&mut text, self.backends.len() + 1);
        for clause in self.clauses() {
            let outcome = |report: &Report| {
                let result = report.results.iter().find(|(of, _)| of.id == clause.id);
                match result.map(|(_, outcome)| outcome) {
                    Some(Outcome::Passed) => mark(true).to_owned(),
                    Some(other) => other.as_str().to_owned(),
                    None => mark(false).to_owned(),
                }
            };
            let cells = self.backends.iter().map(outcome).chain([escaped(clause.rule)]);
            row(&mut text, &format!("`{}`", clause.id), cells);
        }

        let mut gaps = String::new();
        for report in &self.backends {
            for (reason, ids) in gaps_by_reason(report) {
                let ids: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
                row(&mut gaps, &report.backend, [escaped(reason), ids.join(", ")]);
            }
        }
        if !gaps.is_empty() {
            text.push_str("\n## Gaps\n\n");
            row(&mut text, "backend", ["reason".to_owned(), "clauses".to_owned()]);
            rule(&mut text, 2);
            text.push_str(&gaps);
        }
        text
    }

    /// Each clause once, in the order of the first report that has it.
    fn clauses(&self) -> Vec<Clause> {
        let mut clauses: Vec<Clause> = Vec::new();
        for (clause, _) in self.backends.iter().flat_map(|report| &report.results) {
            if !clauses.iter().any(|there| there.id == clause.id) {
                clauses.push(*clause);
            }
        }
        clauses
    }
}

fn granted(report: &Report) -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|level| report.grants(*level))
}

/// Each reason once, in the order in which they come up.
fn gaps_by_reason(report: &Report) -> Vec<(&str, Vec<&'static str>)> {
    let mut reasons: Vec<(&str, Vec<&'static str>)> = Vec::new();
    for (id, reason) in report.gaps() {
        match reasons.iter_mut().find(|(there, _)| *there == reason) {
            Some((_, ids)) => ids.push(id),
            None => reasons.push((reason, vec![id])),
        }
    }
    reasons
}

fn mark(yes: bool) -> &'static str {
    if yes { "✓" } else { "–" }
}

fn line(text: &mut String, line: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{line}");
}

fn row(text: &mut String, first: &str, cells: impl IntoIterator<Item = String>) {
    let cells: Vec<String> = cells.into_iter().collect();
    line(text, &format!("| {first} | {} |", cells.join(" | ")));
}

fn rule(text: &mut String, cells: usize) {
    line(text, &format!("|---|{}", "---|".repeat(cells)));
}

/// A text in a cell: a bar would end it.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

use std::{collections::HashSet, fmt::Write as _};

use super::object::{Made, Object};

/// Looks for an order of the calls that explains their answers. The text of why there is none.
pub(super) fn check<O: Object>(history: &[Made<O>]) -> Result<(), String> {
    let mut deepest = (0, vec![false; history.len()]);
    let mut seen = HashSet::new();
    let mut open = vec![(deepest.1.clone(), O::start())];
    while let Some((done, state)) = open.pop() {
        let count = done.iter().filter(|done| **done).count();
        if count == history.len() {
            return Ok(());
        }
        if count > deepest.0 {
            deepest = (count, done.clone());
        }
        for at in next(history, &done) {
            let made = &history[at];
            let Some(after) = O::step(&state, &made.call, &made.answer) else { continue };
            let mut done = done.clone();
            done[at] = true;
            // The same calls done, with the same outcome: the rest goes alike, whatever their order.
            if seen.insert((done.clone(), after.clone())) {
                open.push((done, after));
            }
        }
    }
    Err(explanation(history, &deepest.1))
}

/// The calls that may be the next: those that began before any other that is left had ended.
fn next<O: Object>(history: &[Made<O>], done: &[bool]) -> Vec<usize> {
    let left = || history.iter().enumerate().filter(|(at, _)| !done[*at]);
    let first_end = left().map(|(_, made)| made.ended).min().unwrap_or(0);
    left().filter(|(_, made)| made.began <= first_end).map(|(at, _)| at).collect()
}

fn explanation<O: Object>(history: &[Made<O>], done: &[bool]) -> String {
    let stuck = next(history, done);
    let mut text = "the calls that began then (each with its first and last instant):".to_owned();
    let mut order: Vec<usize> = (0..history.len()).collect();
    order.sort_by_key(|at| history[*at].began);
    for at in order {
        let Made { call, answer, began, ended } = &history[at];
        let mark = if stuck.contains(&at) { "  <- none of these can be next" } else { "" };
        // Writing to a string does not fail.
        let _ = write!(text, "\n    [{began:>3}, {ended:>3}] {call:?} -> {answer:?}{mark}");
    }
    text
}

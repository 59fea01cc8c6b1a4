//! Find: a literal text, case-folded, newest first.

use std::{
    cmp::Reverse,
    sync::{Arc, Mutex},
};

use memkeep_core::*;

use crate::mutant::{Mutant, mutant};

fn folded(turn: &Turn) -> String {
    turn.content.to_lowercase()
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("find takes % and _ for wildcards", &["FIND-TEXT-01"], |d| {
        d.before(|find: &mut FindTurns| {
            let pieces = find.text.split(['%', '_']).map(str::to_owned);
            let longest = pieces.max_by_key(String::len).filter(|piece| !piece.is_empty());
            find.text = longest.unwrap_or_else(|| find.text.clone());
        })
    }),
    mutant("find takes * and ? for wildcards", &["FIND-TEXT-01", "FIND-TEXT-09"], |d| {
        d.before(|find: &mut FindTurns| {
            let pieces = find.text.split(['*', '?']).map(str::to_owned);
            let longest = pieces.max_by_key(String::len).filter(|piece| !piece.is_empty());
            find.text = longest.unwrap_or_else(|| " ".to_owned());
        })
    }),
    mutant("find finds whole words only", &["FIND-TEXT-02", "FIND-TEXT-08", "FIND-TEXT-10"], |d| {
        d.after(|find: &FindTurns, turns: &mut Vec<Turn>| {
            let text = find.text.to_lowercase();
            turns.retain(|turn| folded(turn).split(' ').any(|word| word == text));
        })
    }),
    mutant("find is case-sensitive", &["FIND-TEXT-03"], |d| {
        d.after(|find: &FindTurns, turns: &mut Vec<Turn>| {
            turns.retain(|turn| turn.content.contains(&find.text));
        })
    }),
    mutant("find folds ASCII only", &["FIND-TEXT-03"], |d| {
        d.after(|find: &FindTurns, turns: &mut Vec<Turn>| {
            let text = find.text.to_ascii_lowercase();
            turns.retain(|turn| turn.content.to_ascii_lowercase().contains(&text));
        })
    }),
    mutant("find stops at a NUL", &["FIND-TEXT-04", "HOSTILE-FIND-01"], |d| {
        d.after(|find: &FindTurns, turns: &mut Vec<Turn>| {
            let text = find.text.to_lowercase();
            turns.retain(|turn| folded(turn).split('\0').next().unwrap().contains(&text));
        })
    }),
    mutant(
        "find gives the oldest first",
        &["SESSION-DELETE-02", "FIND-TEXT-05", "FIND-TEXT-08"],
        |d| d.after(|_: &FindTurns, turns: &mut Vec<Turn>| turns.reverse()),
    ),
    mutant("find breaks ties by the last inserted", &["FIND-TEXT-04", "FIND-TEXT-05"], |d| {
        d.after(|_: &FindTurns, turns: &mut Vec<Turn>| {
            turns.reverse();
            turns.sort_by_key(|turn| Reverse(turn.created_at));
        })
    }),
    mutant("find gives at most one too few", &["FIND-TEXT-06"], |d| {
        d.before(|find: &mut FindTurns| find.limit = find.limit.saturating_sub(1))
    }),
    mutant("find takes a limit of 0 for the default", &["FIND-TEXT-06"], |d| {
        d.before(|find: &mut FindTurns| {
            if find.limit == 0 {
                find.limit = DEFAULT_FINDS;
            }
        })
    }),
    mutant("find filters roles after the limit", &["FIND-TEXT-07"], |d| {
        d.before(|find: &mut FindTurns| find.role = None).after(
            |find: &FindTurns, turns: &mut Vec<Turn>| {
                turns.retain(|turn| find.role.as_ref().is_none_or(|role| *role == turn.role));
            },
        )
    }),
    mutant("find answers nothing to an empty text", &["FIND-TEXT-09"], |d| {
        d.result(|_: &FindTurns, result: &mut Result<Vec<Turn>>| {
            if result.is_err() {
                *result = Ok(Vec::new());
            }
        })
    }),
    mutant("find cuts a long text", &["FIND-TEXT-10"], |d| {
        d.before(|find: &mut FindTurns| find.text = find.text.chars().take(50_000).collect())
    }),
    mutant("find finds what was deleted", &["FIND-TEXT-07"], |d| {
        let said: Arc<Mutex<Vec<Turn>>> = Arc::default();
        let indexed = said.clone();
        d.outcome(move |outcome| {
            if let Outcome::Turn(turn) = outcome {
                indexed.lock().unwrap().push(turn.clone());
            }
        })
        .after(move |find: &FindTurns, turns: &mut Vec<Turn>| {
            for turn in &*said.lock().unwrap() {
                if turn.content.contains(&find.text) && turns.iter().all(|t| t.id != turn.id) {
                    turns.push(turn.clone());
                }
            }
        })
    }),
    mutant("find takes times before 1970 for the newest", &["FIND-TEXT-05"], |d| {
        d.after(|_: &FindTurns, turns: &mut Vec<Turn>| {
            turns.sort_by_key(|turn| Reverse(turn.created_at.as_micros().cast_unsigned()));
        })
    }),
    mutant("find of a role in a workspace is of all", &["FILTER-TURN-01"], |d| {
        d.before(|find: &mut FindTurns| {
            if find.role.is_some() {
                find.scope = Scope::All;
            }
        })
    }),
    mutant("find takes an empty role for none", &["FILTER-TURN-01"], |d| {
        d.before(|find: &mut FindTurns| find.role = find.role.take().filter(|r| !r.is_empty()))
    }),
];

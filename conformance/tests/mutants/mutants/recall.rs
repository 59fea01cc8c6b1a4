//! Recall: scores, order, filters, texts.

use std::sync::{Arc, Mutex};

use memkeep_core::{recall::Scorer, *};

use crate::{
    defect::Defect,
    mutant::{Mutant, mutant},
};

/// Hooks around recall of each kind.
macro_rules! recalls {
    ($d:expr, after |$q:ident, $hits:ident| $body:expr) => {{
        let d: Defect = $d;
        d.after(|$q: &RecallQuery, $hits: &mut Vec<Hit<Episode>>| $body)
            .after(|$q: &RecallQuery, $hits: &mut Vec<Hit<Turn>>| $body)
            .after(|$q: &RecallQuery, $hits: &mut Vec<Hit<Note>>| $body)
    }};
    ($d:expr, result |$q:ident, $result:ident| $body:expr) => {{
        let d: Defect = $d;
        d.result(|$q: &RecallQuery, $result: &mut Result<Vec<Hit<Episode>>>| $body)
            .result(|$q: &RecallQuery, $result: &mut Result<Vec<Hit<Turn>>>| $body)
            .result(|$q: &RecallQuery, $result: &mut Result<Vec<Hit<Note>>>| $body)
    }};
}

/// Makes of every question another.
fn asked(d: Defect, f: fn(&str) -> String) -> Defect {
    d.before(move |query: &mut RecallQuery| query.text = f(&query.text))
}

/// Keeps the records that a recall may find, by their texts, and what was deleted since.
fn stale(d: Defect) -> Defect {
    macro_rules! stale {
        ($d:expr, $($kind:ident $text:ident;)*) => {{
            let d = $d;
            $(let d = {
                let seen: Arc<Mutex<Vec<$kind>>> = Arc::default();
                let indexed = seen.clone();
                d.outcome(move |outcome| {
                    if let Outcome::$kind(record) = outcome {
                        indexed.lock().unwrap().push(record.clone());
                    }
                })
                .after(move |query: &RecallQuery, hits: &mut Vec<Hit<$kind>>| {
                    for record in &*seen.lock().unwrap() {
                        let found = record.$text.contains(&query.text)
                            && query.scope.includes(&record.workspace);
                        if found && hits.iter().all(|hit| hit.record.id != record.id) {
                            hits.push(Hit { score: 0.1, record: record.clone() });
                        }
                    }
                })
            };)*
            d
        }};
    }
    stale!(d, Episode problem; Turn content; Note text;)
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "recall finds what was deleted",
        &[
            "RECALL-TURN-04",
            "RECALL-EPISODE-07",
            "RECALL-TURN-06",
            "RECALL-NOTE-04",
            "RECALL-TURN-07",
            "RECALL-NOTE-06",
            "RECALL-NOTE-07",
            "RECALL-TURN-08",
            "ASK-EPISODE-02",
            "ASK-TURN-02",
            "ASK-NOTE-02",
        ],
        stale,
    ),
    mutant("ties of recall come backwards", &["RECALL-TURN-04", "RECALL-NOTE-04"], |d| {
        recalls!(
            d,
            after | _q,
            hits | {
                hits.reverse();
                hits.sort_by(|a, b| b.score.total_cmp(&a.score));
            }
        )
    }),
    mutant("ties of recall are broken by id", &["RECALL-EPISODE-04"], |d| {
        recalls!(
            d,
            after | _q,
            hits | hits.sort_by(|a, b| {
                b.score.total_cmp(&a.score).then(a.record.id.cmp(&b.record.id))
            })
        )
    }),
    mutant(
        "scores are single",
        &[
            "RECALL-EPISODE-01",
            "RECALL-EPISODE-02",
            "RECALL-EPISODE-03",
            "RECALL-NOTE-01",
            "RECALL-NOTE-02",
            "RECALL-NOTE-03",
            "RECALL-TURN-01",
            "RECALL-TURN-02",
            "RECALL-TURN-03",
        ],
        |d| {
            recalls!(
                d,
                after | _q,
                hits | hits.iter_mut().for_each(|hit| {
                    hit.score = f64::from(hit.score as f32);
                })
            )
        },
    ),
    mutant("recall gives one hit too many", &["RECALL-EPISODE-04"], |d| {
        d.before(|query: &mut RecallQuery| query.k = query.k.saturating_add(1))
    }),
    mutant("recall of no hits gives the default", &["RECALL-EPISODE-04"], |d| {
        d.before(|query: &mut RecallQuery| {
            if query.k == 0 {
                query.k = DEFAULT_RECALL;
            }
        })
    }),
    mutant(
        "recall filters after the limit",
        &[
            "RECALL-EPISODE-05",
            "RECALL-TURN-05",
            "RECALL-TURN-07",
            "RECALL-NOTE-05",
            "RECALL-NOTE-07",
        ],
        |d| {
            let d = d.before(|query: &mut RecallQuery| {
                (query.since, query.until, query.scope) = (None, None, Scope::All);
            });
            recalls!(
                d,
                after | query,
                hits | hits.retain(|hit| {
                    let at = hit.record.created_at;
                    query.scope.includes(&hit.record.workspace)
                        && query.since.is_none_or(|t| at >= t)
                        && query.until.is_none_or(|t| at < t)
                })
            )
        },
    ),
    mutant(
        "statistics of recall are the whole store's",
        &["RECALL-EPISODE-05", "RECALL-TURN-05", "RECALL-NOTE-05"],
        |d| {
            let d = d.before(|query: &mut RecallQuery| {
                (query.scope, query.k) = (Scope::All, usize::MAX);
            });
            recalls!(
                d,
                after | query,
                hits | {
                    hits.retain(|hit| query.scope.includes(&hit.record.workspace));
                    hits.truncate(query.k);
                }
            )
        },
    ),
    mutant(
        "filters change the scores",
        &["RECALL-EPISODE-06", "RECALL-TURN-06", "RECALL-NOTE-06"],
        |d| {
            recalls!(
                d,
                after | query,
                hits | {
                    if query.since.is_some() {
                        hits.iter_mut().for_each(|hit| hit.score *= 1.5);
                    }
                }
            )
        },
    ),
    mutant("an hour before is since", &["RECALL-EPISODE-06"], |d| {
        recalls!(
            d,
            after | query,
            hits | hits
                .retain(|hit| { query.since.is_none_or(|since| hit.record.created_at > since) })
        )
    }),
    mutant("the tag of a recall is a pattern", &["RECALL-TURN-08"], |d| {
        d.before(|query: &mut RecallQuery| {
            query.tag = query.tag.take().filter(|tag| !tag.contains(['%', '\'']));
        })
    }),
    mutant("the tag of a recall is compared without case", &["RECALL-TURN-08"], |d| {
        d.before(|query: &mut RecallQuery| query.tag = query.tag.take().map(|t| t.to_lowercase()))
    }),
    mutant("every scorer is Bm25", &["RECALL-TURN-01"], |d| {
        d.before(|query: &mut RecallQuery| query.scorer = Some(Scorer::Bm25))
    }),
    mutant("Context is Bm25", &["RECALL-TURN-02"], |d| {
        d.before(|query: &mut RecallQuery| {
            if query.scorer == Some(Scorer::Context) {
                query.scorer = Some(Scorer::Bm25);
            }
        })
    }),
    mutant(
        "the text of a question has a syntax",
        &["ASK-EPISODE-01", "ASK-TURN-01", "ASK-NOTE-01"],
        |d| {
            recalls!(
                d,
                result | query,
                result | {
                    if query.text.contains(['"', '(', '*', ':', '\'', '[', '{', '^']) {
                        *result = Err(Error::invalid("text", "syntax error"));
                    }
                }
            )
        },
    ),
    mutant(
        "an empty question finds everything",
        &["ASK-EPISODE-02", "ASK-TURN-02", "ASK-NOTE-02"],
        |d| {
            asked(
                d,
                |text| if text.trim().is_empty() { "a text".to_owned() } else { text.to_owned() },
            )
        },
    ),
    mutant(
        "all words of a question are required",
        &[
            "RECALL-EPISODE-07",
            "ASK-EPISODE-04",
            "ASK-EPISODE-06",
            "ASK-TURN-04",
            "ASK-TURN-06",
            "ASK-NOTE-04",
            "ASK-NOTE-06",
        ],
        |d| {
            asked(d, |text| match text.split_whitespace().count() {
                0 | 1 => text.to_owned(),
                _ => String::new(),
            })
        },
    ),
    mutant(
        "questions keep ASCII only",
        &[
            "ASK-EPISODE-05",
            "ASK-EPISODE-07",
            "ASK-TURN-05",
            "ASK-TURN-07",
            "ASK-NOTE-05",
            "ASK-NOTE-07",
        ],
        |d| asked(d, |text| text.replace(|c: char| !c.is_ascii(), " ")),
    ),
    mutant(
        "questions lose digits and signs",
        &[
            "ASK-EPISODE-08",
            "ASK-TURN-03",
            "ASK-EPISODE-01",
            "ASK-TURN-08",
            "ASK-TURN-01",
            "ASK-NOTE-08",
            "ASK-NOTE-01",
        ],
        |d| asked(d, |text| text.replace(|c: char| !c.is_alphabetic(), " ")),
    ),
    mutant(
        "words of a question with digits in them are dropped",
        &["ASK-EPISODE-03", "ASK-TURN-03", "ASK-NOTE-03"],
        |d| {
            asked(d, |text| {
                let words = text.split(' ').filter(|word| !word.contains(|c: char| c.is_numeric()));
                words.collect::<Vec<_>>().join(" ")
            })
        },
    ),
    mutant("identifiers of a question are run together", &["ASK-TURN-06"], |d| {
        asked(d, |text| text.replace(['_', ' '], ""))
    }),
    mutant("questions end at a NUL", &["ASK-EPISODE-09", "ASK-TURN-09", "ASK-NOTE-09"], |d| {
        asked(d, |text| text.split('\0').next().unwrap_or_default().to_owned())
    }),
    mutant(
        "texts end at a NUL for recall",
        &["ASK-EPISODE-09", "ASK-TURN-09", "ASK-NOTE-09"],
        |d| {
            recalls!(
                d,
                after | query,
                hits | {
                    if !query.text.contains('\0') {
                        hits.retain(|hit| {
                            let json = serde_json::to_string(&hit.record).unwrap();
                            let behind = json.split("\\u0000").next().unwrap();
                            behind.contains(&query.text) || !json.contains("\\u0000")
                        });
                    }
                }
            )
        },
    ),
    mutant("large texts are not indexed", &["ASK-EPISODE-10", "ASK-TURN-10", "ASK-NOTE-10"], |d| {
        recalls!(
            d,
            after | _q,
            hits | hits
                .retain(|hit| { serde_json::to_string(&hit.record).unwrap().len() < 1 << 20 })
        )
    }),
    mutant("hits are cut", &["ASK-TURN-10"], |d| {
        d.after(|_: &RecallQuery, hits: &mut Vec<Hit<Turn>>| {
            hits.iter_mut().for_each(|hit| {
                hit.record.content.truncate(hit.record.content.floor_char_boundary(1_000));
            })
        })
    }),
    mutant("the text before a revision is found", &["EPISODE-REVISE-02"], |d| {
        d.op(|op| {
            if let Op::ReviseEpisode(revision) = op {
                revision.problem = revision.problem.take().map(|problem| problem + " alpha");
            }
        })
    }),
    mutant("recall knows nothing after reopening", &["RECALL-TURN-02"], |d| {
        let opened = Arc::new(Mutex::new(0));
        let seen = opened.clone();
        let d = d.open(move |_| *opened.lock().unwrap() += 1);
        d.after(move |_: &RecallQuery, hits: &mut Vec<Hit<Turn>>| {
            if *seen.lock().unwrap() > 1 {
                hits.clear();
            }
        })
    }),
    mutant("scores change with reopening", &["RECALL-EPISODE-02", "RECALL-NOTE-02"], |d| {
        let opened = Arc::new(Mutex::new(0));
        let (episodes, notes) = (opened.clone(), opened.clone());
        d.open(move |_| *opened.lock().unwrap() += 1)
            .after(move |_: &RecallQuery, hits: &mut Vec<Hit<Episode>>| {
                if *episodes.lock().unwrap() > 1 {
                    hits.iter_mut().for_each(|hit| hit.score += 0.25);
                }
            })
            .after(move |_: &RecallQuery, hits: &mut Vec<Hit<Note>>| {
                if *notes.lock().unwrap() > 1 {
                    hits.iter_mut().for_each(|hit| hit.score += 0.25);
                }
            })
    }),
    mutant(
        "of one score, times before 1970 come first",
        &["RECALL-EPISODE-04", "RECALL-TURN-04", "RECALL-NOTE-04"],
        |d| {
            let negative = |at: Timestamp| at < Timestamp::default();
            d.after(move |_: &RecallQuery, hits: &mut Vec<Hit<Episode>>| {
                hits.sort_by_key(|hit| !negative(hit.record.created_at));
            })
            .after(move |_: &RecallQuery, hits: &mut Vec<Hit<Turn>>| {
                hits.sort_by_key(|hit| !negative(hit.record.created_at));
            })
            .after(move |_: &RecallQuery, hits: &mut Vec<Hit<Note>>| {
                hits.sort_by_key(|hit| !negative(hit.record.created_at));
            })
        },
    ),
    mutant("turns are asked whether they are open", &["FILTER-TURN-02"], |d| {
        d.after(|query: &RecallQuery, hits: &mut Vec<Hit<Turn>>| {
            if query.open.is_some() {
                hits.clear();
            }
        })
    }),
    mutant("episodes are asked for their role", &["FILTER-EPISODE-01"], |d| {
        d.after(|query: &RecallQuery, hits: &mut Vec<Hit<Episode>>| {
            if query.role.is_some() {
                hits.clear();
            }
        })
    }),
    mutant("notes are asked for their session", &["FILTER-NOTE-01"], |d| {
        d.after(|query: &RecallQuery, hits: &mut Vec<Hit<Note>>| {
            if query.session.is_some() {
                hits.clear();
            }
        })
    }),
    mutant("a role, a tag and a session lift the workspace", &["FILTER-TURN-02"], |d| {
        d.before(|query: &mut RecallQuery| {
            if query.role.is_some() && query.tag.is_some() && query.session.is_some() {
                query.scope = Scope::All;
            }
        })
    }),
    mutant("of a tag and two times the last is not looked at", &["FILTER-TURN-02"], |d| {
        d.before(|query: &mut RecallQuery| {
            if query.tag.is_some() && query.since.is_some() {
                query.until = None;
            }
        })
    }),
    mutant("recall takes an empty role for none", &["FILTER-TURN-02"], |d| {
        d.before(|query: &mut RecallQuery| query.role = query.role.take().filter(|r| !r.is_empty()))
    }),
    mutant("closed episodes since an instant are of all workspaces", &["FILTER-EPISODE-01"], |d| {
        d.before(|query: &mut RecallQuery| {
            if query.open == Some(false) && query.since.is_some() {
                query.scope = Scope::All;
            }
        })
    }),
    mutant("closed episodes are listed of all workspaces", &["FILTER-EPISODE-02"], |d| {
        d.before(|list: &mut ListEpisodes| {
            if list.open == Some(false) {
                list.scope = Scope::All;
            }
        })
    }),
    mutant("a note's source lifts the workspace", &["FILTER-NOTE-01"], |d| {
        d.before(|query: &mut RecallQuery| {
            if query.source.is_some() {
                query.scope = Scope::All;
            }
        })
    }),
    mutant("of a source and two times the first is not looked at", &["FILTER-NOTE-01"], |d| {
        d.before(|query: &mut RecallQuery| {
            if query.source.is_some() && query.until.is_some() {
                query.since = None;
            }
        })
    }),
];

//! Workspaces: opaque strings, compared exactly.

use std::sync::Mutex;

use memkeep_core::{decide::Change, *};

use crate::{
    broken::Workspaces,
    defect::Defect,
    mutant::{Mutant, mutant},
};

/// Whether a store takes the first workspace for the second.
type Same = fn(&str, &str) -> bool;

/// Reads in the scope of a workspace see what `same` takes for it.
fn scoped(d: Defect, same: Same) -> Defect {
    macro_rules! hooks {
        ($d:expr; [$($list:ty, $row:ty, $of:expr;)*] [$($id:ty, $record:ty;)*]) => {
            $d
                $(.before(|list: &mut $list| list.scope = Scope::All)
                .after(move |list: &$list, page: &mut Page<$row>| {
                    let of: fn(&$row) -> &Workspace = $of;
                    page.items.retain(|row| included(&list.scope, of(row), same));
                }))*
                $(.before(|(scope, _): &mut (Scope, $id)| *scope = Scope::All)
                .after(move |(scope, _): &(Scope, $id), record: &mut Option<$record>| {
                    *record = record.take().filter(|r| included(scope, &r.workspace, same));
                }))*
        };
    }
    hooks! {
        d;
        [
            ListSessions, Session, |row| &row.workspace;
            ListEpisodes, Episode, |row| &row.workspace;
            ListNotes, Note, |row| &row.workspace;
            ListStates, StateEntry, |row| &row.workspace;
            ListAudit, AuditRecord, |row| &row.workspace;
            ListTurns, Turn, |row| &row.workspace;
            ListSteps, Step, |row| &row.workspace;
            Scan, Record, Record::workspace;
        ]
        [
            SessionId, Session;
            TurnId, Turn;
            StepId, Step;
            EpisodeId, Episode;
            NoteId, Note;
        ]
    }
    .before(|find: &mut FindTurns| find.scope = Scope::All)
    .after(move |find: &FindTurns, turns: &mut Vec<Turn>| {
        turns.retain(|turn| included(&find.scope, &turn.workspace, same));
    })
    .before(|query: &mut RecallQuery| (query.scope, query.k) = (Scope::All, usize::MAX))
    .after(move |query: &RecallQuery, hits: &mut Vec<Hit<Turn>>| {
        hits.retain(|hit| included(&query.scope, &hit.record.workspace, same));
    })
    .after(move |query: &RecallQuery, hits: &mut Vec<Hit<Episode>>| {
        hits.retain(|hit| included(&query.scope, &hit.record.workspace, same));
    })
    .after(move |query: &RecallQuery, hits: &mut Vec<Hit<Note>>| {
        hits.retain(|hit| included(&query.scope, &hit.record.workspace, same));
    })
    .instead(move |store, scope: Scope| async move {
        let mut stats = Stats { counts: Counts::default(), bytes: None };
        for row in store.workspaces().await? {
            if included(&scope, &row.workspace, same) {
                stats.counts += row.counts;
            }
        }
        Ok(stats)
    })
}

fn utf16(workspace: &Workspace) -> Vec<u16> {
    workspace.as_str().encode_utf16().collect()
}

fn included(scope: &Scope, workspace: &Workspace, same: Same) -> bool {
    scope.workspace().is_none_or(|wanted| same(wanted.as_str(), workspace.as_str()))
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "every workspace sees everything",
        &[
            "SESSION-DELETE-02",
            "SESSION-DELETE-03",
            "SCOPE-EPISODE-02",
            "SCOPE-EPISODE-03",
            "SCOPE-EPISODE-01",
            "SCOPE-NOTE-02",
            "SCOPE-NOTE-01",
            "SCOPE-STATE-01",
            "SCOPE-AUDIT-01",
            "SCOPE-COUNT-02",
            "SCOPE-COUNT-03",
        ],
        |d| scoped(d, |_, _| true),
    ),
    mutant(
        "a workspace sees those that begin with it",
        &[
            "PAGE-CHANGE-10",
            "SCOPE-EPISODE-02",
            "SCOPE-EPISODE-03",
            "SCOPE-EPISODE-01",
            "SCOPE-NOTE-02",
            "SCOPE-NOTE-01",
            "SCOPE-STATE-01",
        ],
        |d| scoped(d, |wanted, workspace| workspace.starts_with(wanted)),
    ),
    mutant("workspaces are compared without case", &["PAGE-CHANGE-10"], |d| {
        scoped(d, str::eq_ignore_ascii_case)
    }),
    mutant("workspaces end at a NUL", &["PAGE-SCOPE-01"], |d| {
        scoped(d, |wanted, workspace| wanted.split('\0').next() == workspace.split('\0').next())
    }),
    mutant("workspaces are compared without spaces and slashes", &["PAGE-SCOPE-01"], |d| {
        scoped(d, |wanted, workspace| {
            let trimmed = |text: &str| text.trim_end_matches(['/', ' ']).to_owned();
            trimmed(wanted) == trimmed(workspace)
        })
    }),
    mutant("an empty workspace stands for all", &["PAGE-SCOPE-02"], |d| {
        scoped(d, |wanted, workspace| wanted.is_empty() || wanted == workspace)
    }),
    mutant("turns of other workspaces are read by id", &["SCOPE-SESSION-01"], |d| {
        d.before(|(scope, _): &mut (Scope, TurnId)| *scope = Scope::All)
    }),
    mutant("steps of other workspaces are listed", &["SCOPE-SESSION-01"], |d| {
        d.before(|list: &mut ListSteps| list.scope = Scope::All)
    }),
    mutant("the state of another workspace is read", &["STATE-SCOPE-01"], |d| {
        d.instead(|store, (workspace, key): (Workspace, String)| async move {
            let there = store.state(&workspace, &key).await?;
            let list = ListStates::new().prefix(&key[..]);
            let mut others = store.states(&list).await?.items;
            others.retain(|entry| entry.key == key);
            Ok(there.or(others.pop()))
        })
    }),
    mutant("the audit head is that of the last workspace", &["SCOPE-AUDIT-01"], |d| {
        d.instead(|store, workspace: Workspace| async move {
            let all = store.audit_log(&ListAudit::new()).await?.items;
            let last = all.last().map(AuditRecord::head);
            Ok(last.unwrap_or_else(|| AuditHead::empty(workspace)))
        })
    }),
    mutant("statistics are always of the whole store", &["SCOPE-COUNT-01"], |d| {
        d.before(|scope: &mut Scope| *scope = Scope::All)
    }),
    mutant("emptied workspaces stay", &["STATS-COUNT-01"], |d| {
        let all = Mutex::new(std::collections::BTreeSet::<Workspace>::new());
        d.after(move |_: &Workspaces, rows: &mut Vec<WorkspaceCounts>| {
            let mut all = all.lock().unwrap();
            all.extend(rows.iter().map(|row| row.workspace.clone()));
            for workspace in all.iter() {
                if rows.iter().all(|row| row.workspace != *workspace) {
                    let counts = Counts::default();
                    rows.push(WorkspaceCounts { workspace: workspace.clone(), counts });
                }
            }
        })
    }),
    mutant("an unused workspace is always there", &["SCOPE-COUNT-04"], |d| {
        d.after(|_: &Workspaces, rows: &mut Vec<WorkspaceCounts>| {
            if rows.is_empty() {
                let (workspace, counts) = (Workspace::default(), Counts::default());
                rows.push(WorkspaceCounts { workspace, counts });
            }
        })
    }),
    mutant("workspaces come in any order", &["SCOPE-COUNT-01"], |d| {
        d.after(|_: &Workspaces, rows: &mut Vec<WorkspaceCounts>| rows.reverse())
    }),
    mutant(
        "workspaces come in the order of UTF-16",
        &["SCOPE-COUNT-01", "SCOPE-COUNT-02", "SCOPE-COUNT-03"],
        |d| {
            d.after(|_: &Workspaces, rows: &mut Vec<WorkspaceCounts>| {
                rows.sort_by_cached_key(|row| utf16(&row.workspace));
            })
        },
    ),
    mutant("workspaces come in an order without case", &["SCOPE-COUNT-01"], |d| {
        d.after(|_: &Workspaces, rows: &mut Vec<WorkspaceCounts>| {
            rows.sort_by_cached_key(|row| row.workspace.as_str().to_lowercase());
        })
    }),
    mutant(
        "logs and states come by workspaces in the order of UTF-16",
        &["AUDIT-ORDER-01", "STATE-ORDER-01", "SCOPE-STATE-01"],
        |d| {
            d.after(|_: &ListAudit, page: &mut Page<AuditRecord>| {
                page.items.sort_by_cached_key(|record| utf16(&record.workspace));
            })
            .after(|_: &ListStates, page: &mut Page<StateEntry>| {
                page.items.sort_by_cached_key(|entry| utf16(&entry.workspace));
            })
        },
    ),
    mutant(
        "workspaces are counted once",
        &["SCOPE-COUNT-04", "SESSION-DELETE-01", "STATS-COUNT-01"],
        |d| {
            let first: Mutex<Option<Vec<WorkspaceCounts>>> = Mutex::default();
            d.after(move |_: &Workspaces, rows: &mut Vec<WorkspaceCounts>| {
                rows.clone_from(first.lock().unwrap().get_or_insert_with(|| rows.clone()));
            })
        },
    ),
    mutant(
        "statistics are made once for each scope",
        &["SCOPE-COUNT-04", "SESSION-DELETE-01", "STATS-COUNT-01", "STATS-COUNT-02"],
        |d| {
            let first: Mutex<Vec<(Scope, Stats)>> = Mutex::default();
            d.after(move |scope: &Scope, stats: &mut Stats| {
                let mut first = first.lock().unwrap();
                match first.iter().find(|(known, _)| known == scope) {
                    Some((_, known)) => *stats = *known,
                    None => first.push((scope.clone(), *stats)),
                }
            })
        },
    ),
    mutant("a workspace's statistics have the store's bytes", &["STATS-BYTES-01"], |d| {
        d.after(|_: &Scope, stats: &mut Stats| stats.bytes = Some(4_096))
    }),
    mutant("turns and steps are of the default workspace", &["PAGE-SCOPE-07"], |d| {
        d.change(|change| match change {
            Change::PutTurn(put) => put.row.record.workspace = Workspace::default(),
            Change::PutStep(step) => step.workspace = Workspace::default(),
            _ => {}
        })
    }),
    mutant("a turn does not inherit its workspace", &["SCOPE-SESSION-04"], |d| {
        d.outcome(|outcome| {
            if let Outcome::Turn(turn) = outcome {
                turn.workspace = Workspace::default();
            }
        })
    }),
    mutant("a note does not inherit its workspace", &["SCOPE-NOTE-03"], |d| {
        d.outcome(|outcome| {
            if let Outcome::Note(note) = outcome {
                note.workspace = Workspace::default();
            }
        })
    }),
    mutant("ids are unique in a workspace only", &["SCOPE-SESSION-03", "SCOPE-SESSION-02"], |d| {
        d.before(|batch: &mut Batch| {
            for op in &mut batch.ops {
                if let Op::StartSession(new) = op
                    && let (Some(id), Some(workspace)) = (&new.id, &new.workspace)
                    && workspace.as_str() == "acme-corp"
                {
                    new.id = Some(format!("{workspace}:{id}").into());
                }
            }
        })
    }),
];

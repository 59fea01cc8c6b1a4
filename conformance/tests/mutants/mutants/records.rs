//! Episodes, notes, state and audit.

use std::{cmp::Reverse, collections::HashMap, sync::Mutex, time::Duration};

use memkeep_core::{decide::Change, *};

use crate::mutant::{Mutant, mutant};

const MICRO: Duration = Duration::from_micros(1);

type ByKey = (Workspace, String);

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "episodes are listed newest first",
        &["EPISODE-ADD-02", "EPISODE-ORDER-02", "EPISODE-ORDER-01"],
        |d| d.after(|_: &ListEpisodes, page: &mut Page<Episode>| page.items.reverse()),
    ),
    mutant("episodes are listed by their ids", &["EPISODE-ADD-02", "EPISODE-ORDER-01"], |d| {
        d.after(|_: &ListEpisodes, page: &mut Page<Episode>| {
            page.items.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        })
    }),
    mutant("a changed episode is the newest", &["EPISODE-ORDER-02"], |d| {
        d.changes(|changes| {
            let mut gone = Vec::new();
            for change in changes.iter_mut() {
                if let Change::PutEpisode(put) = change
                    && !put.new
                {
                    put.new = true;
                    gone.push(Change::DeleteEpisode(put.row.record.id.clone()));
                }
            }
            changes.splice(0..0, gone);
        })
    }),
    mutant("open episodes are filtered after the limit", &["EPISODE-OPEN-01"], |d| {
        d.before(|list: &mut ListEpisodes| list.open = None).after(
            |list: &ListEpisodes, page: &mut Page<Episode>| {
                page.items.retain(|episode| list.open.is_none_or(|open| open == episode.open));
            },
        )
    }),
    mutant("an episode is closed at first", &["EPISODE-ADD-01"], |d| {
        d.op(|op| {
            if let Op::AddEpisode(new) = op {
                new.open.get_or_insert(false);
            }
        })
    }),
    mutant("an episode that is added closed has no closing time", &["EPISODE-ADD-01"], |d| {
        d.change(|change| {
            if let Change::PutEpisode(put) = change
                && put.new
            {
                put.row.record.closed_at = None;
            }
        })
    }),
    mutant("closing twice keeps the second time", &["EPISODE-CLOSE-01"], |d| {
        d.load(|loaded| loaded.episodes.values_mut().for_each(|row| row.record.open = true))
    }),
    mutant(
        "a closing time stays when it is opened again",
        &["EPISODE-REVISE-01", "EPISODE-CLOSE-01"],
        |d| {
            d.after(|_: &(Scope, EpisodeId), episode: &mut Option<Episode>| {
                if let Some(episode) = episode {
                    episode.closed_at.get_or_insert(episode.created_at);
                }
            })
        },
    ),
    mutant(
        "a revision clears what it does not set",
        &["EPISODE-REVISE-01", "EPISODE-REVISE-02", "WRITERS-RECALL-01", "WRITERS-RECALL-02"],
        |d| {
            d.op(|op| {
                if let Op::ReviseEpisode(revision) = op {
                    revision.summary.get_or_insert_default();
                }
            })
        },
    ),
    mutant("a revision cannot empty a text", &["EPISODE-REVISE-01"], |d| {
        d.op(|op| {
            if let Op::ReviseEpisode(revision) = op {
                revision.summary = revision.summary.take().filter(|text| !text.is_empty());
            }
        })
    }),
    mutant("an unknown episode is revised without a word", &["EPISODE-REVISE-03"], |d| {
        d.result(|batch: &Batch, result: &mut Result<Receipt>| {
            let revises = batch.ops.iter().any(|op| matches!(op, Op::ReviseEpisode(_)));
            if result.is_err() && revises {
                *result = Err(Error::new(ErrorKind::Unexpected, "nothing to revise"));
            }
        })
    }),
    mutant("notes are listed newest first", &["NOTE-ORDER-01"], |d| {
        d.after(|_: &ListNotes, page: &mut Page<Note>| {
            page.items.sort_by_key(|note| Reverse(note.created_at));
        })
    }),
    mutant("notes of one time are listed backwards", &["NOTE-ORDER-01", "NOTE-DELETE-01"], |d| {
        d.after(|_: &ListNotes, page: &mut Page<Note>| {
            page.items.reverse();
            page.items.sort_by_key(|note| note.created_at);
        })
    }),
    mutant("a note's sources are sorted", &["NOTE-SOURCE-03"], |d| {
        d.op(|op| {
            if let Op::AddNote(new) = op {
                new.sources.iter_mut().for_each(|sources| sources.sort());
            }
        })
    }),
    mutant("a note's sources are each there once", &["NOTE-SOURCE-03"], |d| {
        d.op(|op| {
            if let Op::AddNote(new) = op {
                if let Some(sources) = &mut new.sources {
                    let mut seen = Vec::new();
                    sources.retain(|source| {
                        let is_new = !seen.contains(source);
                        seen.push(source.clone());
                        is_new
                    });
                }
            }
        })
    }),
    mutant("a note forgets a deleted source", &["NOTE-SOURCE-04", "RESTORE-NOTE-01"], |d| {
        d.instead(|store, (scope, id): (Scope, NoteId)| async move {
            let Some(mut note) = store.note(&scope, &id).await? else { return Ok(None) };
            for source in std::mem::take(&mut note.sources) {
                if store.episode(&Scope::All, &source).await?.is_some() {
                    note.sources.push(source);
                }
            }
            Ok(Some(note))
        })
    }),
    mutant("a note's given time is the clock's", &["NOTE-ADD-01"], |d| {
        d.op(|op| {
            if let Op::AddNote(new) = op {
                new.created_at = None;
            }
        })
    }),
    mutant("an audit record's given time is the clock's", &["AUDIT-APPEND-01"], |d| {
        d.op(|op| {
            if let Op::AppendAudit(new) = op {
                new.created_at = None;
            }
        })
    }),
    mutant("versions begin anew after a deletion", &["STATE-DELETE-01", "MODEL-PROGRAM-01"], |d| {
        d.state_rows(|slot| {
            if slot.value.is_none() {
                slot.version = 0;
            }
        })
    }),
    mutant("versions begin anew after an expiry", &["STATE-VERSION-01"], |d| {
        d.load(|loaded| {
            for slot in loaded.states.values_mut().filter(|slot| slot.expires_at.is_some()) {
                slot.version = 0;
            }
        })
    }),
    mutant("versions grow by two", &["STATE-PUT-01", "STATE-EXPIRE-01", "STATE-SCOPE-01"], |d| {
        d.state_rows(|slot| slot.version += slot.version % 2)
    }),
    mutant("null is no value", &["STATE-PUT-02"], |d| {
        d.state_rows(|slot| slot.value = slot.value.take().filter(|value| !value.is_null()))
    }),
    mutant("an entry lives a microsecond longer", &["STATE-VERSION-01", "STATE-EXPIRE-01"], |d| {
        d.state_rows(|slot| slot.expires_at = slot.expires_at.map(|at| at.saturating_add(MICRO)))
    }),
    mutant("an entry never expires", &["STATE-VERSION-02"], |d| {
        d.state_rows(|slot| slot.expires_at = None)
    }),
    mutant("an expired entry is there to an expectation", &["STATE-VERSION-02"], |d| {
        d.load(|loaded| loaded.states.values_mut().for_each(|slot| slot.expires_at = None))
    }),
    mutant("a long time to live is cut", &["STATE-EXPIRE-02"], |d| {
        d.op(|op| {
            if let Op::PutState(put) = op {
                put.ttl_ms = put.ttl_ms.map(|millis| millis.min(1 << 40));
            }
        })
    }),
    mutant("expired entries are listed", &["STATE-VERSION-03"], |d| {
        d.instead(|store, list: ListStates| async move {
            let scan = Scan::new(RecordKind::State).scope(list.scope.clone());
            let mut entries = Vec::new();
            for record in store.scan(&scan).await?.items {
                if let Record::State(slot) = record
                    && slot.key.starts_with(&list.prefix)
                {
                    entries.extend(slot.live(Timestamp::MIN));
                }
            }
            entries.sort_by(|a, b| (&a.workspace, &a.key).cmp(&(&b.workspace, &b.key)));
            Ok(Page::last(entries))
        })
    }),
    mutant("a page of states promises what has expired", &["STATE-EXPIRE-03"], |d| {
        d.after(|list: &ListStates, page: &mut Page<StateEntry>| {
            if let Some(last) = page.items.last().filter(|_| page.items.len() == list.limit) {
                let place = (last.workspace.to_string(), last.key.clone().into_bytes());
                let place = Position::Key(place.0, place.1);
                page.next = Some(list.window().unwrap().cursor(place));
            }
        })
    }),
    mutant("keys are sorted without case", &["STATE-ORDER-01"], |d| {
        d.after(|_: &ListStates, page: &mut Page<StateEntry>| {
            page.items.sort_by_key(|entry| (entry.workspace.clone(), entry.key.to_lowercase()));
        })
    }),
    mutant("keys are sorted as UTF-16", &["STATE-ORDER-01"], |d| {
        d.after(|_: &ListStates, page: &mut Page<StateEntry>| {
            let utf16 = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
            page.items.sort_by_key(|entry| (entry.workspace.clone(), utf16(&entry.key)));
        })
    }),
    mutant("a prefix takes % and _ for wildcards", &["STATE-PREFIX-01"], |d| {
        d.before(|list: &mut ListStates| {
            let end = list.prefix.find(['%', '_']).unwrap_or(list.prefix.len());
            list.prefix.truncate(end);
        })
    }),
    mutant("a prefix is compared without case", &["STATE-EXPIRE-03"], |d| {
        d.instead(|store, list: ListStates| async move {
            let all = ListStates::new().scope(list.scope.clone());
            let mut items = store.states(&all).await?.items;
            let prefix = list.prefix.to_lowercase();
            items.retain(|entry| entry.key.to_lowercase().starts_with(&prefix));
            Ok(Page::last(items))
        })
    }),
    mutant("a prefix ends at a NUL", &["STATE-PREFIX-01"], |d| {
        d.before(|list: &mut ListStates| {
            list.prefix.truncate(list.prefix.find('\0').unwrap_or(list.prefix.len()));
        })
    }),
    mutant("each put makes an entry anew", &["STATE-PUT-01"], |d| {
        d.state_rows(|slot| slot.created_at = slot.updated_at)
    }),
    mutant("a put keeps the time of the first", &["STATE-VERSION-03"], |d| {
        d.state_rows(|slot| slot.updated_at = slot.created_at)
    }),
    mutant("a put keeps the last expiry", &["STATE-EXPECT-04"], |d| {
        let last: Mutex<HashMap<String, Timestamp>> = Mutex::default();
        d.state_rows(move |slot| {
            let mut last = last.lock().unwrap();
            match slot.expires_at {
                Some(at) => drop(last.insert(slot.key.clone(), at)),
                None => slot.expires_at = last.get(&slot.key).copied(),
            }
        })
    }),
    mutant("a deleted value stays in the store", &["STATE-DELETE-01"], |d| {
        d.after(|_: &Scan, page: &mut Page<Record>| {
            for record in &mut page.items {
                if let Record::State(slot) = record {
                    slot.value.get_or_insert_default();
                }
            }
        })
    }),
    mutant("a put answers with the entry before", &["STATE-EXPECT-01", "STATE-EXPECT-02"], |d| {
        let before: Mutex<HashMap<ByKey, u64>> = Mutex::default();
        d.outcome(move |outcome| {
            if let Outcome::State(entry) = outcome {
                let key = (entry.workspace.clone(), entry.key.clone());
                let last = before.lock().unwrap().insert(key, entry.version);
                entry.version = last.unwrap_or(entry.version);
            }
        })
    }),
    mutant(
        "every audit record is the first of its chain",
        &[
            "AUDIT-APPEND-01",
            "AUDIT-HASH-02",
            "AUDIT-CHAIN-01",
            "AUDIT-CHAIN-02",
            "AUDIT-CHAIN-03",
            "AUDIT-ORDER-01",
        ],
        |d| d.load(|loaded| loaded.audit_heads.clear()),
    ),
    mutant("the chains of all workspaces are one", &["AUDIT-SEQ-01", "AUDIT-CHAIN-04"], |d| {
        let head: Mutex<Option<AuditHead>> = Mutex::default();
        d.change(move |change| {
            if let Change::PutAudit(record) = change {
                let mut head = head.lock().unwrap();
                record.seq = head.as_ref().map_or(1, |head| head.seq + 1);
                *head = Some(record.head());
            }
        })
    }),
    mutant(
        "stored hashes are of something else",
        &["AUDIT-SEQ-01", "AUDIT-HEAD-01", "AUDIT-CHAIN-01", "AUDIT-CHAIN-02"],
        |d| {
            d.change(|change| {
                if let Change::PutAudit(record) = change {
                    record.hash.0[0] ^= 1;
                }
            })
        },
    ),
    mutant("hashes begin with another value", &["AUDIT-HASH-01"], |d| {
        d.outcome(|outcome| {
            if let Outcome::Audit(record) = outcome {
                record.hash = record.expected_hash(&Hash([1; 32]));
            }
        })
    }),
    mutant("the order of keys makes another audit record", &["AUDIT-HASH-01"], |d| {
        d.result(|batch: &Batch, result: &mut Result<Receipt>| {
            let text = serde_json::to_string(batch).unwrap();
            if text.contains("append_audit") && text.find("\"b\"") < text.find("\"a\"") {
                *result = Err(Error::new(ErrorKind::Conflict, "another detail"));
            }
        })
    }),
    mutant("an audit record under a known id is appended again", &["AUDIT-HASH-02"], |d| {
        d.op(|op| {
            if let Op::AppendAudit(new) = op {
                new.id = None;
            }
        })
    }),
    mutant("the audit head lags behind", &["AUDIT-HEAD-01"], |d| {
        let before: Mutex<HashMap<Workspace, AuditHead>> = Mutex::default();
        d.after(move |workspace: &Workspace, head: &mut AuditHead| {
            let last = before.lock().unwrap().insert(workspace.clone(), head.clone());
            *head = last.unwrap_or_else(|| head.clone());
        })
    }),
    mutant("audit records are sorted by their times", &["AUDIT-ORDER-01"], |d| {
        d.after(|_: &ListAudit, page: &mut Page<AuditRecord>| {
            page.items.sort_by_key(|record| record.created_at);
        })
    }),
    mutant("an audit chain outlives its workspace", &["AUDIT-CHAIN-04"], |d| {
        let heads: std::sync::Arc<Mutex<HashMap<Workspace, AuditHead>>> = std::sync::Arc::default();
        let known = heads.clone();
        d.change(move |change| {
            if let Change::PutAudit(record) = change {
                heads.lock().unwrap().insert(record.workspace.clone(), record.head());
            }
        })
        .load(move |loaded| {
            for (workspace, head) in &*known.lock().unwrap() {
                loaded.audit_heads.insert(workspace.clone(), head.clone());
            }
        })
    }),
];

//! An export reads back into an equal store, whatever it is read back into.

use std::{fs, path::PathBuf};

use memkeep::{
    ErrorKind, ImportAction, ImportOptions, ListAudit, NewAudit, NewSession, NewStep, NewTurn,
    PutState, Scope, SourceFormat, export, export_lines, import,
};
use tempfile::TempDir;

use crate::support::{
    Store, dump, fixture, import_all, import_with, imports_again, of_action, on_every_backend,
    store,
};

const HEADER: &str = r#"{"memkeep_export":1}"#;

fn file(content: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("export.jsonl");
    fs::write(&path, content).unwrap();
    (folder, path)
}

/// A store with a bit of everything that imports do not make: gaps, changes, deletions, chains.
async fn fill(store: &Store) {
    for workspace in ["a", "b"] {
        for n in 0..3 {
            let audit = NewAudit::new("act", "allow").workspace(workspace).detail(n);
            store.append_audit(audit).await.unwrap();
        }
    }
    let session =
        store.start_session(NewSession::new().workspace("a").model("m")).await.unwrap().id;
    for n in 0..4 {
        let turn = NewTurn::new(&session, "user", format!("turn {n}\0\u{2028}")).tokens(n);
        let turn = store.record_turn(turn).await.unwrap();
        if n == 1 || n == 3 {
            store.delete_turn(&turn.id).await.unwrap();
        }
        store.record_step(NewStep::new(&session, "run", "ok")).await.unwrap();
    }
    store.end_session(&session).await.unwrap();
    for n in 0..3 {
        store.put_state(PutState::new("k", n).workspace("a")).await.unwrap();
        store.put_state(PutState::new("gone", n).workspace("b")).await.unwrap();
    }
    store.delete_state(memkeep::DeleteState::new("gone").workspace("b")).await.unwrap();
    store.put_state(PutState::new("short", 1).ttl_ms(1_u64)).await.unwrap();
}

on_every_backend! {
    async fn an_export_reads_back_with_equal_bytes(here: Store) {
        import_all(&here, fixture("muse_small.db")).await;
        import_all(&here, fixture("velune_small.db")).await;
        fill(&here).await;
        let exported = dump(&here).await;
        assert_eq!(exported.lines().next(), Some(HEADER));
        let (_folder, path) = file(&exported);
        for url in ["inmem:", "sqlite::memory:"] {
            let there = store(url).await;
            let report = import_all(&there, &path).await;
            assert_eq!(report.format, SourceFormat::Jsonl);
            let total = report.counts.total();
            assert_eq!((total.stored, total.skipped), (exported.lines().count() as u64 - 2, 0));
            assert!(report.remarks.iter().all(|remark| !remark.contains("export")), "{report:?}");
            assert!(dump(&there).await == exported, "{url}");
            imports_again(&there, &path, ImportOptions::new()).await;
            imports_again(&there, &path, ImportOptions::new().workspace("elsewhere")).await;
        }
        imports_again(&here, &path, ImportOptions::new()).await;
    }

    async fn an_export_can_be_of_one_workspace(here: Store) {
        fill(&here).await;
        let mut lines = Vec::new();
        let scope = Scope::from("b");
        let records = export_lines(here.as_ref(), &scope, |line| {
            lines.push(line.to_owned());
            Ok(())
        });
        assert_eq!(records.await.unwrap(), 4);
        assert_eq!((lines.len(), &*lines[5]), (6, r#"{"memkeep_export_end":4}"#));
        assert!(lines[1..5].iter().all(|line| line.contains(r#""workspace":"b""#)), "{lines:?}");
    }

    async fn an_export_that_is_not_whole_is_told_of(here: Store) {
        fill(&here).await;
        let exported = dump(&here).await;
        let lines: Vec<_> = exported.lines().collect();
        let (last, rest) = lines.split_last().unwrap();
        let count = rest.len() - 1;
        assert_eq!(*last, format!(r#"{{"memkeep_export_end":{count}}}"#));
        let end = "the export has no line that ends it: it may have been cut short after its";
        let half = &exported[..exported.len() - 3];
        let cases = [
            (exported.clone(), count, Vec::new()),
            (exported.replace('\n', "\r\n\r\n"), count, Vec::new()),
            // Exports of before there was such a line.
            (rest.join("\n"), count, vec![format!("{end} {count} records")]),
            (rest[..3].join("\n"), 2, vec![format!("{end} 2 records")]),
            (half.to_owned(), count, vec![format!("{end} {} records", count + 1)]),
            (HEADER.to_owned(), 0, vec![format!("{end} 0 records")]),
            (
                [&rest[..count], &[*last]].concat().join("\n"),
                count - 1,
                vec![format!(
                    "the export was of {count} records and the file has {}: it is not as it was written",
                    count - 1
                )],
            ),
        ];
        for (content, stored, remarks) in cases {
            let (_folder, path) = file(&content);
            let there = store("inmem:").await;
            let report = import_all(&there, &path).await;
            assert_eq!((report.counts.total().stored, &report.remarks), (stored as u64, &remarks));
            let dry = import_with(&here, &path, ImportOptions::new().dry_run(true)).await;
            assert_eq!(dry.remarks, remarks);
        }
    }

    async fn an_export_that_cannot_be_written_fails(here: Store) {
        struct Full;
        impl std::io::Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let error = export(here.as_ref(), &Scope::All, Full).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
    }

    async fn bad_lines_are_told_by_number(here: Store) {
        let at = "2026-01-01T00:00:00.000000Z";
        let episode = |id: &str, more: &str| {
            format!(
                r#"{{"kind":"episode","id":"{id}","workspace":"w","created_at":"{at}","problem":"p","summary":"s","open":true{more}}}"#
            )
        };
        let lines = [
            HEADER.to_owned(),
            episode("a", ""),
            String::new(),
            "nope".to_owned(),
            r#"{"kind":"dream","id":"x"}"#.to_owned(),
            episode("b", r#","metadata":{"n":NaN,"big":36893488147419103232}"#),
            episode("", ""),
            episode("a", ""),
            format!(
                r#"{{"kind":"turn","id":"t","workspace":"w","created_at":"{at}","session":"none","index":0,"role":"user","content":"c"}}"#
            ),
            episode("c", ""),
        ];
        let mut bytes = lines.join("\n").into_bytes();
        bytes.extend(b"\n\xff\n");
        bytes.extend(episode("d", "").into_bytes());
        let (_folder, path) = file(bytes);
        let report = import_all(&here, &path).await;
        let counts = report.counts;
        assert_eq!((counts.episodes.stored, counts.episodes.already_there), (4, 1));
        assert_eq!((counts.lines.skipped, counts.episodes.skipped, counts.turns.skipped), (3, 1, 1));
        let skipped: Vec<_> =
            of_action(&report, ImportAction::Skipped).iter().map(|i| i.rowid).collect();
        assert_eq!(skipped, [4, 5, 7, 9, 11]);
        let repaired: Vec<_> =
            of_action(&report, ImportAction::Repaired).iter().map(|i| i.rowid).collect();
        assert_eq!(repaired, [6, 6]);
    }

    async fn a_broken_chain_is_told_of(here: Store) {
        fill(&here).await;
        let exported = dump(&here).await;
        let broken: Vec<_> =
            exported.lines().filter(|line| !line.contains(r#""detail":1"#)).collect();
        let (_folder, path) = file(broken.join("\n"));
        let there = store("inmem:").await;
        let report = import_all(&there, &path).await;
        assert_eq!((report.counts.audits.stored, report.counts.audits.skipped), (2, 2));
        let audit = there.audit_log(&ListAudit::new()).await.unwrap().items;
        assert!(audit.iter().all(|record| record.seq == 1));
        let skipped = &of_action(&report, ImportAction::Skipped)[0].reason;
        assert!(skipped.contains("seq 3 is not the next of the chain, which ends at 1"), "{skipped}");
    }

    async fn a_changed_audit_record_is_told_of(here: Store) {
        fill(&here).await;
        let (_folder, path) = file(dump(&here).await.replace(r#""detail":2"#, r#""detail":9"#));
        let there = store("inmem:").await;
        let report = import_all(&there, &path).await;
        assert_eq!((report.counts.audits.stored, report.counts.audits.skipped), (4, 2));
        let skipped = &of_action(&report, ImportAction::Skipped)[0].reason;
        let why = "the hash of the audit record of seq 3 is not that of its content";
        assert!(skipped.contains(why), "{skipped}");
    }

    async fn a_byte_order_mark_is_passed_over(here: Store) {
        fill(&here).await;
        let exported = dump(&here).await;
        let (_folder, path) = file(format!("\u{feff}{exported}"));
        let there = store("inmem:").await;
        let report = import_all(&there, &path).await;
        assert_eq!((report.format, report.remarks.len()), (SourceFormat::Jsonl, 0));
        assert_eq!(dump(&there).await, exported);
        let (_folder, path) = file("\u{feff}{\"a\": 1}");
        let error = import(here.as_ref(), path, ImportOptions::new()).await.unwrap_err();
        assert!(error.to_string().contains("a JSON file"), "{error}");
    }

    async fn a_workspace_that_has_no_effect_is_told_of(here: Store) {
        fill(&here).await;
        let (_folder, path) = file(dump(&here).await);
        let there = store("inmem:").await;
        let options = ImportOptions::new().workspace("elsewhere");
        let report = import_with(&there, &path, options).await;
        assert_eq!(
            report.remarks,
            ["the workspace `elsewhere` has no effect: an export's records have their own"]
        );
        assert_eq!(dump(&there).await, dump(&here).await);
    }

    async fn the_format_s_version_is_read_first(here: Store) {
        let cases = [
            (r#"{"memkeep_export":2}"#, ErrorKind::SchemaTooNew),
            (r#"{"memkeep_export":0}"#, ErrorKind::InvalidArgument),
            (r#"{"memkeep_export":"1"}"#, ErrorKind::InvalidArgument),
            (r#"{"kind":"note"}"#, ErrorKind::InvalidArgument),
            ("\n\n", ErrorKind::InvalidArgument),
        ];
        for (line, kind) in cases {
            let (_folder, path) = file(line);
            let error = import(here.as_ref(), path, ImportOptions::new()).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{line}");
        }
        let (_folder, path) = file(HEADER);
        assert_eq!(import_with(&here, path, ImportOptions::new()).await.counts.total().stored, 0);
    }

    async fn records_of_another_store_are_left_alone(here: Store) {
        let there = store("inmem:").await;
        for (store, model) in [(&here, "ours"), (&there, "theirs")] {
            store.start_session(NewSession::new().id("s").model(model)).await.unwrap();
            store.record_turn(NewTurn::new("s", "user", model)).await.unwrap();
        }
        let before = dump(&here).await;
        let (_folder, path) = file(dump(&there).await);
        let report = import_all(&here, path).await;
        assert_eq!((report.counts.sessions.skipped, report.counts.turns.skipped), (1, 1));
        assert_eq!(dump(&here).await, before);
    }
}

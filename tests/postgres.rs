//! The facade over a PostgreSQL server: by URL, and to and from other backends.

#![cfg(all(feature = "inmem", feature = "postgres", feature = "sqlite"))]

use memkeep::{
    CopyOptions, ErrorKind, ImportOptions, NewAudit, NewEpisode, NewNote, NewSession, NewStep,
    NewTurn, Op, PutState, RecallQuery, Scope, copy, export, import,
};
use memkeep_postgres_testing::{Server, server_tests};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// The URL of an empty database on the shared server.
async fn database(name: &str) -> String {
    let server = Server::shared();
    let mut admin = PgConnection::connect(&server.url("postgres")).await.unwrap();
    let sql = AssertSqlSafe(format!("CREATE DATABASE {name}"));
    sqlx::raw_sql(sql).execute(&mut admin).await.unwrap();
    server.url(name)
}

async fn exported(store: &dyn memkeep::MemoryBackend) -> Vec<u8> {
    let mut bytes = Vec::new();
    export(store, &Scope::All, &mut bytes).await.unwrap();
    bytes
}

server_tests! {
    async fn a_copy_there_and_back_is_the_same() {
        let url = database("copied").await;
        let from = memkeep::open("inmem:").await.unwrap();
        for n in 0..5 {
            let session = format!("s{n}");
            let batch: memkeep::Batch = [
                Op::StartSession(NewSession::new().id(session.as_str()).workspace(format!("w\0{n}"))),
                NewTurn::new(session.as_str(), "user", "a \0 b").tokens(n).into(),
                NewStep::new(session.as_str(), "plan", "done").into(),
                NewEpisode::new("out of memory", "split it").id(format!("e{n}")).into(),
                NewNote::new("lesson").sources([format!("e{n}").into()]).into(),
                PutState::new("key", serde_json::json!({ "n": u64::MAX })).into(),
                NewAudit::new("run", "allow").into(),
            ]
            .into_iter()
            .collect();
            from.commit(batch).await.unwrap();
        }
        let server = memkeep::open(&url).await.unwrap();
        assert_eq!(server.info().name, "postgres");
        let report = copy(&*from, &*server, CopyOptions::default()).await.unwrap();
        assert_eq!(report.copied.turns, 5);
        let bytes = exported(&*from).await;
        assert_eq!(exported(&*server).await, bytes);
        let hits = server.recall(&RecallQuery::new("memory")).await.unwrap();
        assert_eq!(hits, from.recall(&RecallQuery::new("memory")).await.unwrap());

        let back = memkeep::open("sqlite::memory:").await.unwrap();
        copy(&*server, &*back, CopyOptions::default()).await.unwrap();
        assert_eq!(exported(&*back).await, bytes);

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("export.jsonl");
        std::fs::write(&file, &bytes).unwrap();
        let other = memkeep::open(&format!("{url}?schema=imported")).await.unwrap();
        import(&*other, &file, ImportOptions::default()).await.unwrap();
        assert_eq!(exported(&*other).await, bytes);
    }

    async fn a_url_of_a_server_is_read_and_not_shown() {
        for url in [
            "postgres://a:hunter2@127.0.0.1:1/x",
            "postgresql://a:hunter2@127.0.0.1:1/x",
            "postgres://a:hunter2@h/x?nothing=1",
            "postgres:hunter2",
        ] {
            let error = memkeep::open(url).await.map(|store| store.info()).unwrap_err();
            let kinds = [ErrorKind::Unavailable, ErrorKind::InvalidArgument];
            assert!(kinds.contains(&error.kind()), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        }
    }
}

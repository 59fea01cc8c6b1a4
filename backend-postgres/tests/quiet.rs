//! What is logged of a store.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use memkeep_core::{
    Backend as _, EpisodicBackend as _, ErrorKind, NewEpisode, NewTurn, RecallQuery,
    SessionStore as _, verify::Verify,
};
use memkeep_postgres::PostgresConfig;
use memkeep_postgres_testing::{Server, server_tests};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

mod support;

use support::{connect, create, run};

/// All that is logged, and all of it that is for those who run a program.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Told>>);

#[derive(Default)]
struct Told {
    all: String,
    loud: String,
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.all, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        attributes.record(&mut *self.0.lock().unwrap());
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut *self.0.lock().unwrap());
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut told = self.0.lock().unwrap();
        let start = told.all.len();
        event.record(&mut *told);
        if *event.metadata().level() <= Level::INFO {
            let new = told.all[start..].to_owned();
            told.loud.push_str(&new);
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

server_tests! {
    /// Whoever runs the program is told of errors by what calls return, and no log at any level has a
    /// secret or a memory.
    async fn nothing_is_logged_that_is_secret_or_stored() {
        let log = Log::default();
        tracing::subscriber::set_global_default(log.clone()).unwrap();
        tracing::error!("it works");
        create(Server::shared(), "quiet").await.unwrap();
        let socket = Server::shared().socket().display().to_string();
        let mut admin = connect(&socket, "quiet").await.unwrap();
        run(&mut admin, "CREATE ROLE app LOGIN SUPERUSER PASSWORD 'secret-horse'").await.unwrap();
        {
            let mut told = log.0.lock().unwrap();
            assert!(told.loud.contains("it works"));
            *told = Told::default();
        }

        let host = socket.replace('/', "%2F");
        let url = format!("postgres://app:secret-horse@{host}/quiet?schema=fresh");
        let config = PostgresConfig::from_url(&url.parse().unwrap()).unwrap();
        let store = config.open().await.unwrap();
        let session = store.start_session(memkeep_core::NewSession::new()).await.unwrap();
        let turn = NewTurn::new(session.id.clone(), "user", "stored-horse").id("t-horse");
        store.record_turn(turn.clone()).await.unwrap();
        store.add_episode(NewEpisode::new("stored-horse", "stored-horse")).await.unwrap();
        assert_eq!(store.recall(&RecallQuery::new("stored-horse")).await.unwrap().len(), 1);
        assert!(store.verify(&Verify::new()).await.unwrap().is_clean());
        let mut other = turn;
        other.content = "another-horse".to_owned();
        let refused = store.record_turn(other).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        run(&mut admin, "DROP TABLE fresh.episodes").await.unwrap();
        let failed = store.add_episode(NewEpisode::new("more-horse", "more-horse")).await;
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Corrupt);
        run(&mut admin, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
            WHERE usename = 'app'").await.unwrap();
        store.session(&memkeep_core::Scope::All, &session.id).await.unwrap();
        store.close().await.unwrap();

        let told = log.0.lock().unwrap();
        assert!(!told.all.contains("horse"), "{}", told.all);
        assert_eq!(told.loud, "");
    }
}

//! Connections by TLS.

// Other systems have one loopback address only, and its port may be taken.
#![cfg(target_os = "linux")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use memkeep_core::{Backend as _, EpisodicBackend as _, Error, ErrorKind, NewEpisode};
use memkeep_postgres::{Host, PostgresConfig, TlsMode};
use memkeep_postgres_testing::{Server, Stop, server_tests};

mod support;

use support::{connect, run};

/// Where the server listens: the host that its certificate is for, and one that it is not for.
const NAMED: &str = "127.0.0.2";
const UNNAMED: &str = "127.0.0.3";

/// A certificate and the key for it, as files.
struct Certificate {
    certified: PathBuf,
    key: PathBuf,
}

impl Certificate {
    /// For a name, by an authority; else that of an authority itself.
    fn new(folder: &Path, name: &str, by: Option<&Self>) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = |end: &str| folder.join(format!("{number}.{end}"));
        let (certified, key) = (file("crt"), file("key"));
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-nodes", "-newkey", "ec"]);
        openssl.args(["-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2"]);
        openssl.arg("-subj").arg(format!("/CN={name}"));
        openssl.arg("-out").arg(&certified).arg("-keyout").arg(&key);
        if let Some(by) = by {
            openssl.arg("-CA").arg(&by.certified).arg("-CAkey").arg(&by.key);
            openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
            openssl.arg("-addext").arg(format!("subjectAltName=IP:{NAMED}"));
        }
        let made = openssl.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self { certified, key }
    }
}

/// Stores and reads something.
async fn used(config: PostgresConfig) -> Result<(), Error> {
    let store = config.open().await?;
    store.add_episode(NewEpisode::new("problem", "summary")).await?;
    store.close().await
}

async fn refused(config: PostgresConfig) {
    let error = used(config).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.is_retryable()),
        (ErrorKind::InvalidArgument, false),
        "{error:?}"
    );
}

server_tests! {
    async fn connections_are_as_secure_as_is_asked_for() {
        let settings = format!("fsync = off\nlisten_addresses = '{NAMED},{UNNAMED}'\n");
        let server = Server::start(&settings);
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let ours = Certificate::new(folder, "ours", None);
        let another = Certificate::new(folder, "another", None);
        let own = Certificate::new(folder, NAMED, Some(&ours));
        let text = |file: &Path| fs::read_to_string(file).unwrap();
        for (name, text) in [
            ("server.crt", text(&own.certified).as_str()),
            ("server.key", &text(&own.key)),
            ("root.crt", &text(&ours.certified)),
            (
                "pg_hba.conf",
                "local all all trust\n\
                 hostssl open app all trust\n\
                 hostssl closed app all cert\n",
            ),
        ] {
            server.put_file(name, text);
        }
        let socket = server.socket().display().to_string();
        let mut admin = connect(&socket, "postgres").await.unwrap();
        for sql in [
            "CREATE ROLE app LOGIN",
            "CREATE DATABASE open OWNER app",
            "CREATE DATABASE closed OWNER app",
            "ALTER SYSTEM SET ssl_ca_file = 'root.crt'",
            "ALTER SYSTEM SET ssl = on",
        ] {
            run(&mut admin, sql).await.unwrap();
        }
        server.stop(Stop::Fast);
        server.start_again();
        let root = &ours.certified;
        let at = |host: &str, database: &str, tls: TlsMode| {
            PostgresConfig::new(Host::new(host), database).user("app").tls(tls)
        };

        // Encrypted or not at all: the server lets nobody in without.
        for (tls, root) in [
            (TlsMode::Prefer, None),
            (TlsMode::Require, None),
            (TlsMode::VerifyCa, Some(root)),
            (TlsMode::VerifyFull, Some(root)),
        ] {
            let config = at(NAMED, "open", tls);
            let config = root.into_iter().fold(config, PostgresConfig::root_certificate);
            used(config).await.unwrap_or_else(|error| panic!("{tls:?}: {error:?}"));
        }
        refused(at(NAMED, "open", TlsMode::Disable)).await;

        // An authority that is not known, and a host that the certificate is not for.
        refused(at(NAMED, "open", TlsMode::VerifyCa)).await;
        refused(at(NAMED, "open", TlsMode::VerifyCa).root_certificate(&another.certified)).await;
        refused(at(UNNAMED, "open", TlsMode::VerifyFull).root_certificate(root)).await;
        used(at(UNNAMED, "open", TlsMode::VerifyCa).root_certificate(root)).await.unwrap();

        // A server that wants to know who comes.
        let by = |authority: &Certificate, name: &str| {
            let own = Certificate::new(folder, name, Some(authority));
            let config = at(NAMED, "closed", TlsMode::VerifyFull).root_certificate(root);
            config.client_certificate(&own.certified, &own.key)
        };
        used(by(&ours, "app")).await.unwrap();
        refused(by(&ours, "somebody")).await;
        let error = used(by(&another, "app")).await.unwrap_err();
        assert_ne!(error.kind(), ErrorKind::Unexpected, "{error:?}");
        refused(at(NAMED, "closed", TlsMode::Require)).await;
    }
}

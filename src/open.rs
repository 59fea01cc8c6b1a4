use std::sync::Arc;

use crate::{Error, ErrorKind, MemoryBackend, Result, StoreUrl};

/// The schemes that [`open`] knows, whether or not they are compiled in.
const SCHEMES: [&str; 4] = ["inmem", "postgres", "redb", "sqlite"];

/// Opens the store that a URL names: `sqlite:agent.db`, `redb:agent.redb`, `inmem:`,
/// `postgres://user@host/database`.
///
/// What may follow the scheme is told by the backend's own configuration, which also has a builder.
///
/// Errors: `InvalidArgument` for a malformed URL, an unknown scheme or an unknown parameter;
/// `Unsupported` for a backend that is not compiled in, naming the feature to enable; and whatever
/// the backend itself answers: `AlreadyOpen`, `SchemaTooNew`, `Corrupt`, `Unavailable`, ….
pub async fn open(url: &str) -> Result<Arc<dyn MemoryBackend>> {
    by_scheme(&url.parse()?).await.map_err(|e| e.during("open"))
}

// Without a backend there is nothing to wait for.
#[cfg_attr(
    not(any(feature = "inmem", feature = "postgres", feature = "redb", feature = "sqlite")),
    allow(clippy::unused_async)
)]
async fn by_scheme(url: &StoreUrl) -> Result<Arc<dyn MemoryBackend>> {
    // What other clients of PostgreSQL say too.
    let scheme = if url.scheme() == "postgresql" { "postgres" } else { url.scheme() };
    match scheme {
        #[cfg(feature = "inmem")]
        "inmem" => Ok(Arc::new(crate::inmem::InmemConfig::from_url(url)?.open().await?)),
        #[cfg(feature = "postgres")]
        "postgres" => Ok(Arc::new(crate::postgres::PostgresConfig::from_url(url)?.open().await?)),
        #[cfg(feature = "redb")]
        "redb" => Ok(Arc::new(crate::redb::RedbConfig::from_url(url)?.open().await?)),
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(Arc::new(crate::sqlite::SqliteConfig::from_url(url)?.open().await?)),
        scheme if SCHEMES.contains(&scheme) => Err(not_compiled_in(scheme)),
        scheme => {
            let known = SCHEMES.map(|scheme| format!("{scheme}:")).join(", ");
            Err(Error::invalid(
                "url",
                format_args!("no backend is called `{scheme}`; there are {known}"),
            ))
        }
    }
}

fn not_compiled_in(scheme: &str) -> Error {
    let message = format!(
        "the {scheme} backend is not compiled in; enable the feature `{scheme}` of memkeep"
    );
    Error::new(ErrorKind::Unsupported, message).with("feature", scheme)
}

#[cfg(test)]
mod tests {
    use super::open;
    use crate::{ErrorKind, MemoryBackend};

    async fn refused(url: &str) -> crate::Error {
        open(url).await.map(|store: std::sync::Arc<dyn MemoryBackend>| store.info()).unwrap_err()
    }

    #[tokio::test]
    async fn an_unknown_scheme_lists_the_known_ones() {
        for url in ["oracle:x", "agent.db", ""] {
            assert_eq!(refused(url).await.kind(), ErrorKind::InvalidArgument, "{url}");
        }
        let message = refused("oracle:x").await.to_string();
        assert!(message.contains("inmem:, postgres:, redb:, sqlite:"), "{message}");
    }

    #[tokio::test]
    async fn a_backend_that_is_not_compiled_in_names_its_feature() {
        for (scheme, is_in) in [
            ("inmem", cfg!(feature = "inmem")),
            ("postgres", cfg!(feature = "postgres")),
            ("redb", cfg!(feature = "redb")),
            ("sqlite", cfg!(feature = "sqlite")),
        ] {
            if is_in {
                continue;
            }
            let error = refused(&format!("{scheme}:agent")).await;
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            let message = error.to_string();
            assert!(message.contains(&format!("enable the feature `{scheme}`")), "{message}");
        }
    }

    #[cfg(all(feature = "inmem", feature = "redb", feature = "sqlite"))]
    #[tokio::test]
    async fn a_scheme_opens_its_backend() {
        let folder = tempfile::tempdir().unwrap();
        let redb = format!("redb:{}", folder.path().join("agent.redb").display());
        for (url, name) in [
            ("inmem:", "inmem"),
            ("INMEM:", "inmem"),
            (&redb, "redb"),
            ("sqlite::memory:", "sqlite"),
        ] {
            assert_eq!(open(url).await.unwrap().info().name, name);
        }
        assert_eq!(refused("inmem:?a=b").await.kind(), ErrorKind::InvalidArgument);
    }
}

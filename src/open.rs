use std::sync::Arc;

use crate::{Error, ErrorKind, MemoryBackend, Result, StoreUrl};

/// The schemes that [`open`] knows, whether or not they are compiled in.
const SCHEMES: [&str; 2] = ["inmem", "sqlite"];

/// Opens the store that a URL names: `sqlite:agent.db`, `inmem:`.
///
/// What may follow the scheme is told by the backend's own configuration, which also has a builder.
///
/// Errors: `InvalidArgument` for a malformed URL, an unknown scheme or an unknown parameter;
/// `Unsupported` for a backend that is not compiled in, naming the feature to enable; and whatever
/// the backend itself answers: `AlreadyOpen`, `SchemaTooNew`, `Corrupt`, `Unavailable`, ….
pub async fn open(url: &str) -> Result<Arc<dyn MemoryBackend>> {
    by_scheme(&url.parse()?).await.map_err(|e| e.during("open"))
}

async fn by_scheme(url: &StoreUrl) -> Result<Arc<dyn MemoryBackend>> {
    match url.scheme() {
        #[cfg(feature = "inmem")]
        "inmem" => Ok(Arc::new(crate::inmem::InmemConfig::from_url(url)?.open().await?)),
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

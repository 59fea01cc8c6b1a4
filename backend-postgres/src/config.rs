use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use memkeep_core::{Clock, Error, Result, StoreUrl, SystemClock, recall::Language};
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::{PostgresBackend, names::Names, store::Store, url::Authority};

pub(crate) const DEFAULT_PORT: u16 = 5432;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// A name, an address, or, if it begins with `/`, the folder of a Unix socket.
    pub name: String,
    /// The port.
    pub port: u16,
}

impl Host {
    /// The server on a host's default port, 5432.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), port: DEFAULT_PORT }
    }

    /// Sets [`port`](Self::port).
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }
}

/// How much of TLS is asked for: `sslmode`, as other clients of PostgreSQL have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsMode {
    /// None.
    Disable,
    /// If the server will not do without.
    Allow,
    /// If the server has it.
    Prefer,
    /// Always; the server's certificate is not looked at.
    Require,
    /// Always, with a certificate that a known authority signed.
    VerifyCa,
    /// Always, with a certificate that a known authority signed for this host.
    VerifyFull,
}

impl FromStr for TlsMode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "disable" => Self::Disable,
            "allow" => Self::Allow,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                let message = "one of disable, allow, prefer, require, verify-ca, verify-full";
                return Err(Error::invalid("sslmode", message));
            }
        })
    }
}

impl From<TlsMode> for PgSslMode {
    fn from(mode: TlsMode) -> Self {
        match mode {
            TlsMode::Disable => Self::Disable,
            TlsMode::Allow => Self::Allow,
            TlsMode::Prefer => Self::Prefer,
            TlsMode::Require => Self::Require,
            TlsMode::VerifyCa => Self::VerifyCa,
            TlsMode::VerifyFull => Self::VerifyFull,
        }
    }
}

/// What nobody is shown.
#[derive(Clone)]
struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Which store to open, and how.
///
/// What is left out is taken from the environment, as other clients of PostgreSQL do: `PGHOST`,
/// `PGPORT`, `PGUSER`, `PGPASSWORD`, `PGDATABASE`, `PGSSLMODE`, `PGSSLROOTCERT`, ….
#[derive(Clone)]
#[non_exhaustive]
pub struct PostgresConfig {
    /// The servers of one cluster. Of several, the one that takes writes is looked for.
    pub hosts: Vec<Host>,
    /// The role to log in as.
    pub user: Option<String>,
    password: Option<Secret>,
    /// The database.
    pub database: Option<String>,
    /// The schema that holds the tables; it is created where it does not exist.
    pub schema: String,
    /// How much of TLS is asked for.
    pub tls: Option<TlsMode>,
    /// The file of the authorities that may have signed the server's certificate, besides those that
    /// the system knows.
    pub root_certificate: Option<PathBuf>,
    /// The file of this client's certificate.
    pub client_certificate: Option<PathBuf>,
    /// The file of its key.
    pub client_key: Option<PathBuf>,
    /// How many connections there may be at once, at least 1.
    pub connections: u32,
    /// How long connecting to one host may take.
    pub connect_timeout: Duration,
    /// How long a call waits for a connection to be free.
    pub acquire_timeout: Duration,
    /// How long one statement may take, waiting for locks included.
    pub statement_timeout: Duration,
    /// How long a statement may wait for one lock of others.
    pub lock_timeout: Duration,
    /// How far a standby that answers reads may be behind; none if the primary answers all.
    pub standby_reads: Option<Duration>,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// The language that recall stems in. Handles of one store may have different ones.
    pub language: Language,
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConfig")
            .field("hosts", &self.hosts)
            .field("user", &self.user)
            .field("password", &self.password)
            .field("database", &self.database)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

impl Default for PostgresConfig {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            user: None,
            password: None,
            database: None,
            schema: "memkeep".to_owned(),
            tls: None,
            root_certificate: None,
            client_certificate: None,
            client_key: None,
            connections: 10,
            connect_timeout: Duration::from_secs(10),
            acquire_timeout: Duration::from_secs(30),
            statement_timeout: Duration::from_mins(1),
            lock_timeout: Duration::from_secs(10),
            standby_reads: None,
            clock: Arc::new(SystemClock),
            language: Language::default(),
        }
    }
}

impl PostgresConfig {
    /// The store in the schema `memkeep` of `database` on `host`.
    pub fn new(host: Host, database: impl Into<String>) -> Self {
        Self { hosts: vec![host], database: Some(database.into()), ..Self::default() }
    }

    /// The store that `url` names: `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE`, any part
    /// of which may be left out, with the parameters `schema`, `host` (the folder of a Unix socket),
    /// `sslmode`, `sslrootcert`, `sslcert`, `sslkey`, `connections`, `connect_timeout_ms`,
    /// `acquire_timeout_ms`, `statement_timeout_ms`, `lock_timeout_ms`, `standby_reads_ms` and
    /// `language` (the name of a [`Language`]).
    ///
    /// Errors: `InvalidArgument` for what cannot be read, and for a parameter that is not known. None
    /// quotes the URL.
    pub fn from_url(url: &StoreUrl) -> Result<Self> {
        let Authority { user, password, hosts, database } = Authority::parse(url.rest())?;
        let password = password.map(Secret);
        let mut config = Self { hosts, user, password, database, ..Self::default() };
        for (name, value) in url.parameters() {
            let millis = || StoreUrl::parse_parameter(name, value).map(Duration::from_millis);
            let path = || Some(PathBuf::from(value));
            match name {
                "schema" => value.clone_into(&mut config.schema),
                "host" => config.hosts.push(Host::new(value)),
                "sslmode" => config.tls = Some(value.parse()?),
                "sslrootcert" => config.root_certificate = path(),
                "sslcert" => config.client_certificate = path(),
                "sslkey" => config.client_key = path(),
                "connections" => config.connections = StoreUrl::parse_parameter(name, value)?,
                "connect_timeout_ms" => config.connect_timeout = millis()?,
                "acquire_timeout_ms" => config.acquire_timeout = millis()?,
                "statement_timeout_ms" => config.statement_timeout = millis()?,
                "lock_timeout_ms" => config.lock_timeout = millis()?,
                "standby_reads_ms" => config.standby_reads = Some(millis()?),
                "language" => config.language = value.parse()?,
                _ => return Err(url.unknown_parameter(name)),
            }
        }
        Ok(config)
    }

    /// Adds a server of the same cluster.
    #[must_use]
    pub fn host(mut self, host: Host) -> Self {
        self.hosts.push(host);
        self
    }

    /// Sets [`user`](Self::user).
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Sets the password, which nothing shows.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(Secret(password.into()));
        self
    }

    /// Sets [`schema`](Self::schema).
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets [`tls`](Self::tls).
    #[must_use]
    pub fn tls(mut self, mode: TlsMode) -> Self {
        self.tls = Some(mode);
        self
    }

    /// Sets [`root_certificate`](Self::root_certificate).
    #[must_use]
    pub fn root_certificate(mut self, path: impl AsRef<Path>) -> Self {
        self.root_certificate = Some(path.as_ref().to_owned());
        self
    }

    /// Sets [`client_certificate`](Self::client_certificate) and [`client_key`](Self::client_key).
    #[must_use]
    pub fn client_certificate(mut self, path: impl AsRef<Path>, key: impl AsRef<Path>) -> Self {
        self.client_certificate = Some(path.as_ref().to_owned());
        self.client_key = Some(key.as_ref().to_owned());
        self
    }

    /// Sets [`connections`](Self::connections).
    #[must_use]
    pub fn connections(mut self, connections: u32) -> Self {
        self.connections = connections;
        self
    }

    /// Sets [`connect_timeout`](Self::connect_timeout).
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets [`acquire_timeout`](Self::acquire_timeout).
    #[must_use]
    pub fn acquire_timeout(mut self, timeout: Duration) -> Self {
        self.acquire_timeout = timeout;
        self
    }

    /// Sets [`statement_timeout`](Self::statement_timeout).
    #[must_use]
    pub fn statement_timeout(mut self, timeout: Duration) -> Self {
        self.statement_timeout = timeout;
        self
    }

    /// Sets [`lock_timeout`](Self::lock_timeout).
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// Sets [`standby_reads`](Self::standby_reads).
    #[must_use]
    pub fn standby_reads(mut self, behind: Duration) -> Self {
        self.standby_reads = Some(behind);
        self
    }

    /// Sets [`clock`](Self::clock).
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets [`language`](Self::language).
    #[must_use]
    pub fn language(mut self, language: Language) -> Self {
        self.language = language;
        self
    }

    /// Opens the store, and makes or migrates it first where that is needed. Any number of processes
    /// may do so at once.
    ///
    /// Errors: `Unavailable` if no host takes writes or can be reached; `InvalidArgument` if the role
    /// is not let in; `NotFound` if there is no such database; `SchemaTooNew`, with nothing written;
    /// `ReadOnly` if the role may not make the tables; `Corrupt` if the schema is something else;
    /// `Unsupported` if the database's encoding is not UTF-8; `Timeout`.
    pub async fn open(self) -> Result<PostgresBackend> {
        let names = Names::new(&self.schema)?;
        let store = Store::open(self, names).await.map_err(|e| e.during("open"))?;
        Ok(PostgresBackend::new(store))
    }

    /// How each host is connected to.
    pub(crate) fn targets(&self) -> Vec<PgConnectOptions> {
        let base = PgConnectOptions::new_without_pgpass();
        let mut base = match base.get_application_name() {
            Some(_) => base,
            None => base.application_name("memkeep"),
        };
        // Nothing of a session must stay behind in a pooler.
        base = base.statement_cache_capacity(0).extra_float_digits(None);
        base = sqlx::ConnectOptions::disable_statement_logging(base);
        if let Some(user) = &self.user {
            base = base.username(user);
        }
        if let Some(Secret(password)) = &self.password {
            base = base.password(password);
        }
        if let Some(database) = &self.database {
            base = base.database(database);
        }
        if let Some(mode) = self.tls {
            base = base.ssl_mode(mode.into());
        }
        if let Some(path) = &self.root_certificate {
            base = base.ssl_root_cert(path);
        }
        if let Some(path) = &self.client_certificate {
            base = base.ssl_client_cert(path);
        }
        if let Some(path) = &self.client_key {
            base = base.ssl_client_key(path);
        }
        if self.hosts.is_empty() {
            return vec![base];
        }
        let host = |host: &Host| base.clone().host(&host.name).port(host.port);
        self.hosts.iter().map(host).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> Result<PostgresConfig> {
        PostgresConfig::from_url(&url.parse()?)
    }

    #[test]
    fn a_url_sets_what_it_names() {
        let url = "postgres://ana:pw@h1,h2:6543/work?schema=agents&sslmode=verify-full\
                   &connections=3&connect_timeout_ms=5&acquire_timeout_ms=6\
                   &statement_timeout_ms=7&standby_reads_ms=8&sslrootcert=/ca.pem\
                   &language=german";
        let config = config(url).unwrap();
        assert_eq!(config.hosts, [Host::new("h1"), Host::new("h2").port(6543)]);
        assert_eq!(config.user.as_deref(), Some("ana"));
        assert_eq!(config.database.as_deref(), Some("work"));
        assert_eq!(config.schema, "agents");
        assert_eq!(config.tls, Some(TlsMode::VerifyFull));
        assert_eq!(config.connections, 3);
        let timeouts = [config.connect_timeout, config.acquire_timeout, config.statement_timeout];
        assert_eq!(timeouts, [5, 6, 7].map(Duration::from_millis));
        assert_eq!(config.standby_reads, Some(Duration::from_millis(8)));
        assert_eq!(config.root_certificate, Some("/ca.pem".into()));
        assert_eq!(config.language, Language::German);
    }

    #[test]
    fn no_text_of_a_configuration_has_the_password() {
        let shown = format!("{:?}", config("postgres://ana:hidden@h/work").unwrap());
        assert!(shown.contains("ana") && !shown.contains("hidden"), "{shown}");
        for url in [
            "postgres://ana:hidden@h/work?password=hidden",
            "postgres://ana:hidden@h/work?hidden=1",
            "postgres://ana:hidden@h/work?sslmode=hidden",
            "postgres://ana:hidden@h:hidden/work",
        ] {
            let error = config(url).unwrap_err();
            assert!(!format!("{error:?}").contains("hidden@"), "{error:?}");
        }
    }
}

use std::{
    io, mem,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
};

/// What a server's socket is called in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

/// Stands between a store and its server, and counts how often the server is asked and answers.
pub(crate) struct Meter {
    folder: TempDir,
    reads: Arc<Mutex<Vec<usize>>>,
}

impl Meter {
    pub(crate) fn start(server: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let (server, reads) = (PathBuf::from(server).join(SOCKET), Arc::<Mutex<_>>::default());
        let found = Arc::clone(&reads);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&server).await.unwrap();
                tokio::spawn(relay(client, server, Arc::clone(&found)));
            }
        });
        Self { folder, reads }
    }

    pub(crate) fn socket(&self) -> String {
        self.folder.path().display().to_string()
    }

    /// How many trips each transaction took that only read, of those that have ended since it was asked
    /// last.
    pub(crate) fn reads(&self) -> Vec<usize> {
        mem::take(&mut self.reads.lock().unwrap())
    }
}

/// Hands everything on until one of both ends.
async fn relay(
    mut client: UnixStream,
    mut server: UnixStream,
    reads: Arc<Mutex<Vec<usize>>>,
) -> io::Result<()> {
    let (mut to_server, mut to_client) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    // What was said since the server answered last, and the trips of the transaction.
    let (mut said, mut trips) = (Vec::new(), None);
    loop {
        tokio::select! {
            read = client.read(&mut to_server) => {
                let bytes = &to_server[..read?];
                if bytes.is_empty() {
                    return Ok(());
                }
                said.extend_from_slice(bytes);
                server.write_all(bytes).await?;
            }
            read = server.read(&mut to_client) => {
                let bytes = &to_client[..read?];
                if bytes.is_empty() {
                    return Ok(());
                }
                if !said.is_empty() {
                    let asked = String::from_utf8_lossy(&said).into_owned();
                    said.clear();
                    if asked.contains("READ ONLY") {
                        trips = Some(0);
                    }
                    trips = trips.map(|trips| trips + 1);
                    if asked.contains("COMMIT\0") || asked.contains("ROLLBACK\0") {
                        reads.lock().unwrap().extend(trips.take());
                    }
                }
                client.write_all(bytes).await?;
            }
        }
    }
}

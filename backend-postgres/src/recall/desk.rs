//! The blobs of an index as the tender sees and changes them.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use memkeep_core::{
    Error, ErrorKind, RecordKind, Result,
    recall::index::{Blobs, BlobsMut, PAGE_KEY, Visit},
};
use sqlx::Row as _;
use tokio::sync::{mpsc, oneshot};

use crate::{
    statement::Statement,
    transaction::{Attempt, Transaction},
};

/// How many blobs are read at once: those after the one that is asked for mostly come next.
const AHEAD: i64 = 64;
/// About how many bytes of pages are kept.
const KEPT: usize = 64 << 20;

type Blob = (Vec<u8>, Vec<u8>);

/// Pages that were read, for work that goes on in other transactions: they never change.
#[derive(Default)]
pub(super) struct Kept {
    pages: HashMap<Vec<u8>, Vec<u8>>,
    bytes: usize,
}

impl Kept {
    fn put(&mut self, key: Vec<u8>, page: Vec<u8>) {
        if self.bytes > KEPT {
            self.clear();
        }
        self.bytes += key.len() + page.len();
        self.pages.insert(key, page);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The blobs of one index within a transaction, for work on a thread of its own. What is written is
/// written at the end, together.
pub(super) struct Desk {
    asks: mpsc::UnboundedSender<Ask>,
    written: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    kept: Arc<Mutex<Kept>>,
}

/// Asks for the first or the last blobs of a range.
struct Ask {
    range: Range<Vec<u8>>,
    reverse: bool,
    reply: oneshot::Sender<Vec<Blob>>,
}

impl Desk {
    fn ask(&self, range: Range<Vec<u8>>, reverse: bool) -> Result<Vec<Blob>> {
        let (reply, answer) = oneshot::channel();
        let cut = || Error::new(ErrorKind::Unavailable, "the index cannot be read any further");
        self.asks.send(Ask { range, reverse, reply }).map_err(|_| cut())?;
        answer.blocking_recv().map_err(|_| cut())
    }

    fn scan_written(
        &self,
        range: Range<&[u8]>,
        reverse: bool,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let mut blobs = BTreeMap::new();
        self.scan_stored(range.clone(), false, &mut |key, value| {
            blobs.insert(key.to_vec(), value.to_vec());
            Ok(true)
        })?;
        for (key, value) in self.written.range(range.start.to_vec()..range.end.to_vec()) {
            match value {
                Some(value) => drop(blobs.insert(key.clone(), value.clone())),
                None => drop(blobs.remove(key)),
            }
        }
        let mut blobs = blobs.iter();
        while let Some((key, value)) = if reverse { blobs.next_back() } else { blobs.next() } {
            if !visit(key, value)? {
                break;
            }
        }
        Ok(())
    }

    fn scan_stored(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        let (mut start, mut end) = (range.start.to_vec(), range.end.to_vec());
        loop {
            let blobs = self.ask(start.clone()..end.clone(), reverse)?;
            for (key, value) in &blobs {
                if !visit(key, value)? {
                    return Ok(());
                }
            }
            let Some((last, _)) = blobs.into_iter().next_back() else { return Ok(()) };
            if reverse {
                end = last;
            } else {
                start = last;
                start.push(0);
            }
        }
    }
}

impl Blobs for Desk {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if let Some(value) = self.written.get(key) {
            return Ok(value.clone());
        }
        if key[..1] != PAGE_KEY.0 {
            let mut end = key.to_vec();
            end.push(0);
            return Ok(self.ask(key.to_vec()..end, false)?.pop().map(|(_, value)| value));
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(page) = kept.pages.get(key) {
            return Ok(Some(page.clone()));
        }
        // What is numbered comes after it, of the same segment and kind: all but the last four bytes.
        let mut end = key.to_vec();
        let common = end.len().saturating_sub(4);
        end[common..].fill(0xff);
        end.push(0);
        let mut found = None;
        for (at, page) in self.ask(key.to_vec()..end, false)? {
            if at == key {
                found = Some(page.clone());
            }
            kept.put(at, page);
        }
        Ok(found)
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        let (start, end) = (range.start.to_vec(), range.end.to_vec());
        if self.written.range(start..end).next().is_some() {
            self.scan_written(range, reverse, visit)
        } else {
            self.scan_stored(range, reverse, visit)
        }
    }
}

impl BlobsMut for Desk {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.written.insert(key.to_vec(), Some(value.to_vec()));
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.written.insert(key.to_vec(), None);
        Ok(())
    }
}

/// Does `work` over the index of a kind on a thread of its own, and writes what it has written.
pub(super) async fn at_desk<T: Send + 'static>(
    transaction: &mut Transaction,
    kind: RecordKind,
    kept: Arc<Mutex<Kept>>,
    work: impl FnOnce(&mut Desk) -> Result<T> + Send + 'static,
) -> Attempt<T> {
    let (asks, mut asked) = mpsc::unbounded_channel();
    let thread = tokio::task::spawn_blocking(move || {
        let mut desk = Desk { asks, written: BTreeMap::new(), kept };
        let done = work(&mut desk)?;
        Ok::<_, Error>((done, desk.written))
    });
    let mut trouble = None;
    while let Some(Ask { range, reverse, reply }) = asked.recv().await {
        match read(transaction, kind, range, reverse).await {
            // If the work has ended, it says why.
            Ok(blobs) => drop(reply.send(blobs)),
            Err(cause) => {
                trouble = Some(cause);
                break;
            }
        }
    }
    drop(asked);
    let cut = |e| Error::new(ErrorKind::Unexpected, "the work was cut short").caused_by(e);
    let done = thread.await.map_err(cut)?;
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    let (done, written) = done?;
    write(transaction, kind, written).await?;
    Ok(done)
}

async fn read(
    transaction: &mut Transaction,
    kind: RecordKind,
    range: Range<Vec<u8>>,
    reverse: bool,
) -> Attempt<Vec<Blob>> {
    let order = if reverse { "DESC" } else { "ASC" };
    let sql = Statement::new(format!(
        "SELECT key, value FROM @recall_blobs WHERE kind = $1 AND key >= $2 AND key < $3 \
         ORDER BY key {order} LIMIT {AHEAD}"
    ));
    let sql = sql.bind(kind.as_str())?.bind(range.start)?.bind(range.end)?;
    let rows = transaction.rows(sql).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

async fn write(
    transaction: &mut Transaction,
    kind: RecordKind,
    written: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
) -> Attempt<()> {
    let (mut deleted, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in written {
        match value {
            Some(value) => {
                keys.push(key);
                values.push(value);
            }
            None => deleted.push(key),
        }
    }
    if !deleted.is_empty() {
        let sql = "DELETE FROM @recall_blobs WHERE kind = $1 AND key = ANY($2)";
        transaction.rows(Statement::new(sql).bind(kind.as_str())?.bind(deleted)?).await?;
    }
    if !keys.is_empty() {
        let sql = "INSERT INTO @recall_blobs (kind, key, value) \
                   SELECT $1, v.key, v.value FROM unnest($2, $3) AS v(key, value) \
                   ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value";
        let sql = Statement::new(sql).bind(kind.as_str())?.bind(keys)?.bind(values)?;
        transaction.rows(sql).await?;
    }
    Ok(())
}

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use memkeep_core::{
    AuditRecord, Episode, Note, Page, Position, Record, RecordKind, Result, Scan, Scope, Session,
    StateSlot, Step, Turn,
};
use sqlx::Row as _;

use super::select::{Select, to_i64};
use crate::{
    cells::Cells,
    error::Trouble,
    names::Names,
    rows::{IntoRecord, decode},
    store::{Store, Tries},
    transaction::{Attempt, Mode, Transaction},
};

/// Calls a generic function with the type of a kind's records.
macro_rules! of_kind {
    ($kind:expr, $function:ident $args:tt) => {
        match $kind {
            RecordKind::Session => $function::<Session> $args.await,
            RecordKind::Turn => $function::<Turn> $args.await,
            RecordKind::Step => $function::<Step> $args.await,
            RecordKind::Episode => $function::<Episode> $args.await,
            RecordKind::Note => $function::<Note> $args.await,
            RecordKind::State => $function::<StateSlot> $args.await,
            RecordKind::Audit => $function::<AuditRecord> $args.await,
        }
    };
}

/// How many rows are read at a time where all are.
const ROWS: usize = 1_000;

/// A page, and the highest number on it.
type Numbered = (Page<Record>, i64);

impl Store {
    /// A page in order of insertion.
    ///
    /// Numbers are given out before they are committed, so a row may appear behind one that has been
    /// read. A page that reaches into what may still be on its way waits for it, so that nothing is
    /// ever behind a cursor.
    pub(crate) async fn scan(self: &Arc<Self>, scan: Scan) -> Result<Page<Record>> {
        let store = Arc::clone(self);
        self.signal.walk();
        let work = async move {
            let _permit = store.pool.permit().await?;
            let about = (scan, i64::MAX);
            let (page, highest) = store.read_here(&about, |t, a| Box::pin(page_of(t, a))).await?;
            if highest < store.settled.load(Ordering::Acquire) {
                return Ok(page);
            }
            let settled = store.settle().await?;
            let about = (about.0, settled);
            Ok(store.read_here(&about, |t, a| Box::pin(page_of(t, a))).await?.0)
        };
        self.finish("scan", work).await
    }

    /// Waits for those who have taken numbers and not committed yet; returns the number below which
    /// all is settled.
    pub(crate) async fn settle(&self) -> Result<i64> {
        let mut tries = Tries::default();
        loop {
            let mut settled = self.settle_once(Mode::Write).await;
            if settled.as_ref().is_err_and(Trouble::is_read_only) {
                // Who may not write opens no other gate: others wait as long as we do.
                settled = self.settle_once(Mode::Read).await;
            }
            match settled {
                Ok(settled) => {
                    self.settled.fetch_max(settled, Ordering::AcqRel);
                    return Ok(settled);
                }
                Err(trouble) => tries.again(trouble).await?,
            }
        }
    }

    /// Who has taken numbers has entered by one of the gates. While we wait at one, others enter by the
    /// other, so that nobody waits for us.
    async fn settle_once(&self, mode: Mode<'_>) -> Attempt<i64> {
        let next = self.clear_gate(mode, 0).await?;
        self.clear_gate(mode, 1).await?;
        Ok(next)
    }

    /// Waits for all who have entered by a gate; returns the number that was next before that.
    async fn clear_gate(&self, mode: Mode<'_>, gate: u32) -> Attempt<i64> {
        let later = Transaction::later(&self.pool, &self.names, mode, self.limits);
        let mut transaction = later.await?;
        let (lock, open) = (self.names.lock_gate(gate), Names::open_gate(1 - gate));
        // What a sequence has given out is seen by all at once.
        let next =
            "SELECT CASE WHEN is_called THEN last_value + 1 ELSE last_value END FROM @numbers";
        // No disk is waited for: to a server that starts anew it is the same which gate is open.
        let list = match mode {
            Mode::Write => format!("{next}; SET LOCAL synchronous_commit = off; {open}; {lock}"),
            _ => format!("{next}; {lock}"),
        };
        let rows = transaction.last_list(&list).await;
        let rows = transaction.end(rows).await?;
        Ok(rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0)?)
    }
}

async fn page_of(transaction: &mut Transaction, (scan, below): &(Scan, i64)) -> Attempt<Numbered> {
    of_kind!(scan.kind, page_of_kind(transaction, scan, *below))
}

async fn page_of_kind<T: IntoRecord>(
    transaction: &mut Transaction,
    scan: &Scan,
    below: i64,
) -> Attempt<Numbered> {
    let window = scan.window()?;
    let mut select = Select::<T>::in_scope(&scan.scope)?;
    if let Some(after) = window.insertion() {
        let after = select.value(to_i64(after))?;
        select.only(format!("r.pk > {after}"));
    }
    let below = select.value(below)?;
    select.only(format!("r.pk < {below}"));
    let highest = AtomicI64::new(i64::MIN);
    let position = |pk: i64, _: &T| {
        highest.fetch_max(pk, Ordering::Relaxed);
        Position::Insertion(pk.unsigned_abs())
    };
    let page = select.page(transaction, "r.pk", &window, position).await?;
    Ok((page.map(T::into_record), highest.into_inner()))
}

/// Calls `f` with every record of a kind in scope, in order of insertion; with the error of each that
/// cannot be decoded. All are of the state that the transaction sees.
pub(crate) async fn each(
    transaction: &mut Transaction,
    kind: RecordKind,
    scope: &Scope,
    f: &mut (dyn FnMut(Result<Record>) + Send),
) -> Attempt<()> {
    of_kind!(kind, each_of_kind(transaction, scope, f))
}

async fn each_of_kind<T: IntoRecord>(
    transaction: &mut Transaction,
    scope: &Scope,
    f: &mut (dyn FnMut(Result<Record>) + Send),
) -> Attempt<()> {
    let mut after = i64::MIN;
    loop {
        let mut select = Select::<T>::in_scope(scope)?;
        let from = select.value(after)?;
        select.only(format!("r.pk > {from}"));
        let rows = select.raw(transaction, "r.pk", ROWS).await?;
        for row in &rows {
            f(decode::<T>(row).map(T::into_record));
        }
        match rows.last() {
            Some(last) if rows.len() == ROWS => after = Cells::new(last, T::SHAPE.table).pk()?,
            _ => return Ok(()),
        }
    }
}

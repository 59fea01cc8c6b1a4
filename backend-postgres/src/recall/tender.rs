//! What keeps the recall indexes in step with the records and in shape: done by any process, one at a
//! time, in transactions of its own.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use memkeep_core::{
    RecordKind, Result, Timestamp,
    recall::{
        Analyzer, Language,
        index::{
            ATTEMPTS, BULK, Blobs, BlobsMut, Changes, Coverage, Keeper, RECALLED, STEP, Step,
            append, disturbed,
        },
    },
};
use sqlx::Row as _;

use super::{
    desk::{Desk, Kept, at_desk},
    tail::{self, BY_KEY, Change},
};
use crate::{
    statement::Statement,
    store::{Pending, Store, Tries},
    transaction::{Attempt, Mode, Transaction},
};

/// How long merging goes on in one transaction: while more comes in, and else.
const TOGETHER: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(200)];

/// The key of who merges: others leave it to them.
const MERGER: &[u8] = &[4];
/// How long after its last step somebody else takes over, in microseconds.
const GONE: i64 = 10_000_000;

/// What the coverage among the blobs says: how far the index has come, says the table
/// `recall_coverage`, which statements can read.
const BEGUN: u64 = u64::MAX;

/// How much is to be done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urge {
    /// What is much, and what must not be put off.
    Due,
    /// All that is new, too.
    New,
    /// All that is new, and what it takes for a query to be quick.
    All,
}

/// What came of looking for something to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    Nothing,
    Something,
    /// Somebody else is at it.
    Busy,
}

/// The work on the indexes of one handle.
pub(crate) struct Tender {
    /// Of this handle.
    name: [u8; 16],
    language: Language,
    analyzer: Arc<Analyzer>,
    keepers: [Arc<Mutex<Keeper>>; 3],
    /// What they have read.
    kept: [Arc<Mutex<Kept>>; 3],
}

impl Tender {
    pub(crate) fn new(language: Language) -> Self {
        Self {
            name: std::array::from_fn(|_| fastrand::u8(..)),
            language,
            analyzer: Arc::new(Analyzer::remembering(language)),
            keepers: RECALLED.map(|kind| Arc::new(Mutex::new(Keeper::new(kind)))),
            kept: RECALLED.map(|_| Arc::default()),
        }
    }

    fn keeper(&self, kind: RecordKind) -> Arc<Mutex<Keeper>> {
        Arc::clone(&self.keepers[at(kind)])
    }

    fn kept(&self, kind: RecordKind) -> Arc<Mutex<Kept>> {
        Arc::clone(&self.kept[at(kind)])
    }
}

/// Where a kind is among those that are recalled.
pub(crate) fn at(kind: RecordKind) -> usize {
    RECALLED.iter().position(|known| *known == kind).unwrap_or_default()
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an index is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Of another language or a later program: it is left to them.
    Foreign,
    /// To be begun.
    Absent,
    Begun,
}

impl Store {
    /// Does a bit of what there is to do for the index of a kind.
    pub(crate) async fn tend(&self, kind: RecordKind, urge: Urge) -> Result<Done> {
        let _permit = self.pool.permit().await?;
        let mut tries = Tries::default();
        let mut settled = None;
        loop {
            match self.tend_once(kind, urge, settled).await {
                Ok(Some(done)) => return Ok(done),
                Ok(None) => settled = Some(self.settle().await?),
                Err(trouble) => {
                    lock(&self.tender.keeper(kind)).reset();
                    tries.again(trouble).await?;
                }
            }
        }
    }

    /// None if there is more to do once it is known below which number all is settled.
    async fn tend_once(
        &self,
        kind: RecordKind,
        urge: Urge,
        settled: Option<i64>,
    ) -> Attempt<Option<Done>> {
        let Some((mut transaction, now)) = self.enter(false).await? else {
            return Ok(Some(Done::Busy));
        };
        let done = self.tend_in(&mut transaction, kind, urge, settled, now).await;
        transaction.end(done).await
    }

    /// A transaction that may write to the indexes, and the server's time; none if somebody else writes
    /// and is not waited for.
    async fn enter(&self, waits: bool) -> Attempt<Option<(Transaction, Timestamp)>> {
        let later = Transaction::later(&self.pool, &self.names, Mode::Write, self.limits);
        let mut transaction = later.await?;
        let lock = self.names.lock_index(waits);
        let is_ours = if waits { "TRUE" } else { "l.held" };
        let held = if waits { "" } else { " AS l(held)" };
        // If the last of it is lost with the server, it is done again.
        let sql = format!(
            "SET LOCAL synchronous_commit = off; {BY_KEY}; SELECT {is_ours}, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint \
             FROM {lock}{held}"
        );
        let entered = async {
            let rows = transaction.list(&sql).await?;
            let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
            Ok((row.try_get::<bool, _>(0)?, row.try_get::<i64, _>(1)?))
        };
        match entered.await {
            Ok((true, micros)) => {
                let now = Timestamp::from_micros(micros).unwrap_or_else(|| self.clock.now());
                Ok(Some((transaction, now)))
            }
            Ok((false, _)) => transaction.commit().await.map(|()| None),
            Err(trouble) => Err(transaction.give_up(trouble).await),
        }
    }

    async fn tend_in(
        &self,
        transaction: &mut Transaction,
        kind: RecordKind,
        urge: Urge,
        settled: Option<i64>,
        now: Timestamp,
    ) -> Attempt<Option<Done>> {
        let language = self.tender.language;
        let stage =
            at_desk(transaction, kind, self.tender.kept(kind), move |desk| stage(desk, language))
                .await?;
        if stage == Stage::Foreign {
            return Ok(Some(Done::Nothing));
        }
        let enough = if urge == Urge::Due { BULK } else { 1 };
        let (there, last) = tail_of(transaction, kind, enough).await?;
        let last = last.filter(|_| stage == Stage::Begun);
        let is_due = last.is_none() || there >= enough;
        if is_due {
            let Some(below) = settled else { return Ok(None) };
            self.take_in(transaction, kind, last, below, now).await?;
        }
        let kept = self.keep(transaction, kind, urge, now).await?;
        Ok(Some(if is_due || kept { Done::Something } else { Done::Nothing }))
    }

    /// Makes a segment of what came before the number `below`, or of the first of it. `last` is how far
    /// the index has come; if there is none, it is begun.
    async fn take_in(
        &self,
        transaction: &mut Transaction,
        kind: RecordKind,
        last: Option<i64>,
        below: i64,
        now: Timestamp,
    ) -> Attempt<()> {
        let after = last.unwrap_or_default();
        let mut changes = Vec::new();
        if last.is_some() {
            for row in transaction.list(&tail::some_changes(kind, "0", STEP)).await? {
                changes.push(Change::read(kind, &row, 1)?);
            }
        }
        let (mut come_to, mut is_all) = (after, true);
        for row in transaction.list(&tail::some_records(kind, after, below, STEP)).await? {
            let change = Change::read(kind, &row, 1)?;
            is_all = row.try_get(0)?;
            if change.is_there() {
                come_to = come_to.max(change.number);
            }
            changes.push(change);
        }
        if is_all {
            come_to = come_to.max(below - 1);
        }
        self.forget(transaction, kind, &changes).await?;
        let (analyzer, language) = (Arc::clone(&self.tender.analyzer), self.tender.language);
        at_desk(transaction, kind, self.tender.kept(kind), move |desk| {
            let mut taken = Changes::default();
            for change in &changes {
                change.put(kind, &analyzer, &mut taken);
            }
            if last.is_some() {
                return append(desk, kind, &mut taken);
            }
            let coverage = Coverage { last: BEGUN, has_words: false };
            Step::extend(desk, kind, language, coverage, true, &mut taken)?
                .apply(desk, now)
                .map(drop)
        })
        .await?;
        let sql = "INSERT INTO @recall_coverage (kind, last) VALUES ($1, $2) \
                   ON CONFLICT (kind) DO UPDATE SET last = excluded.last";
        let sql = Statement::new(sql).bind(kind.as_str())?.bind(come_to)?;
        transaction.rows(sql).await.map(drop)
    }

    /// Deletes what the tail has said.
    async fn forget(
        &self,
        transaction: &mut Transaction,
        kind: RecordKind,
        changes: &[Change],
    ) -> Attempt<()> {
        let said = changes.iter().filter_map(|change| Some((change.number, change.newest?)));
        let (numbers, newest): (Vec<i64>, Vec<i64>) = said.unzip();
        if numbers.is_empty() {
            return Ok(());
        }
        let sql = "DELETE FROM @recall_changes t USING unnest($2, $3) AS v(number, newest) \
                   WHERE t.kind = $1 AND t.number = v.number AND t.pk <= v.newest";
        let sql = Statement::new(sql).bind(kind.as_str())?.bind(numbers)?.bind(newest)?;
        transaction.rows(sql).await.map(drop)
    }

    /// Merges segments for a while. Returns whether there was anything to do.
    async fn keep(
        &self,
        transaction: &mut Transaction,
        kind: RecordKind,
        urge: Urge,
        now: Timestamp,
    ) -> Attempt<bool> {
        let (keeper, name) = (self.tender.keeper(kind), self.tender.name);
        let kept = self.tender.kept(kind);
        let merged = at_desk(transaction, kind, Arc::clone(&kept), move |desk| {
            if !may_merge(desk, &name, now)? {
                return Ok(false);
            }
            let mut keeper = lock(&keeper);
            let (started, mut any) = (Instant::now(), false);
            while started.elapsed() < TOGETHER[usize::from(urge == Urge::All)]
                && let Some(step) = keeper.step(desk, now, urge == Urge::All)?
            {
                any = true;
                let goes_on = step.goes_on();
                if !step.apply(desk, now)? {
                    keeper.reset();
                }
                if !goes_on {
                    break;
                }
            }
            if any {
                note_merger(desk, &name, now)?;
            }
            Ok(any)
        });
        let any = merged.await?;
        if !any {
            lock(&kept).clear();
        }
        Ok(any)
    }

    /// Begins to make the indexes anew.
    pub(crate) async fn begin_anew(&self) -> Result<()> {
        for kind in RECALLED {
            lock(&self.tender.keeper(kind)).reset();
            self.write_index(move |transaction, _| Box::pin(drop_index(transaction, kind))).await?;
        }
        Ok(())
    }

    /// Makes one segment of all there is of the index of a kind, and of what is new, so that nothing is
    /// left of what was removed.
    pub(crate) async fn merge_all(&self, kind: RecordKind) -> Result<()> {
        // Others may commit between its steps, and leave something to be merged again.
        for _ in 0..ATTEMPTS {
            self.tend_all(kind).await?;
            if !self.begin_all(kind).await? {
                return Ok(());
            }
        }
        Err(disturbed())
    }

    async fn begin_all(&self, kind: RecordKind) -> Result<bool> {
        let (keeper, name) = (self.tender.keeper(kind), self.tender.name);
        self.write_index(move |transaction, now| {
            let keeper = Arc::clone(&keeper);
            Box::pin(at_desk(transaction, kind, self.tender.kept(kind), move |desk| {
                // Whoever else merges gives it up.
                note_merger(desk, &name, now)?;
                lock(&keeper).begin_all(desk)
            }))
        })
        .await
    }

    /// Does all that there is to do for the index of a kind.
    pub(crate) async fn tend_all(&self, kind: RecordKind) -> Result<()> {
        loop {
            match self.tend(kind, Urge::All).await? {
                Done::Nothing => return Ok(()),
                Done::Something => {}
                // Waits for them.
                Done::Busy => self.write_index(|_, _| Box::pin(async { Ok(()) })).await?,
            }
        }
    }

    /// Writes to the indexes, as soon as nobody else does.
    async fn write_index<T: Send>(
        &self,
        work: impl for<'t> Fn(&'t mut Transaction, Timestamp) -> Pending<'t, Attempt<T>> + Sync,
    ) -> Result<T> {
        let _permit = self.pool.permit().await?;
        let mut tries = Tries::default();
        loop {
            let written = async {
                let entered = self.enter(true).await?;
                let (mut transaction, now) = entered.ok_or(sqlx::Error::RowNotFound)?;
                let done = work(&mut transaction, now).await;
                transaction.end(done).await
            };
            match written.await {
                Ok(done) => return Ok(done),
                Err(trouble) => tries.again(trouble).await?,
            }
        }
    }
}

/// Drops the index of a kind, whatever is there, to be made anew from the records.
pub(crate) async fn drop_index(transaction: &mut Transaction, kind: RecordKind) -> Attempt<()> {
    for sql in [
        "DELETE FROM @recall_coverage WHERE kind = $1",
        "DELETE FROM @recall_blobs WHERE kind = $1",
    ] {
        transaction.rows(Statement::new(sql).bind(kind.as_str())?).await?;
    }
    Ok(())
}

/// How much is to come in, counted up to `limit`, and how far the index has come, if it is there.
async fn tail_of(
    transaction: &mut Transaction,
    kind: RecordKind,
    limit: usize,
) -> Attempt<(usize, Option<i64>)> {
    let rows = transaction.list(&tail::count(kind, "0", limit)).await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    let there: i64 = row.try_get(1)?;
    Ok((usize::try_from(there).unwrap_or(usize::MAX), row.try_get(2)?))
}

fn stage(desk: &Desk, language: Language) -> Result<Stage> {
    if Coverage::is_foreign(desk, language)? {
        return Ok(Stage::Foreign);
    }
    Ok(if is_begun(desk, language)? { Stage::Begun } else { Stage::Absent })
}

/// Whether the index among `blobs` is one of a language, and of this version.
pub(super) fn is_begun(blobs: &dyn Blobs, language: Language) -> Result<bool> {
    Ok(Coverage::get(blobs, language)?.last == BEGUN)
}

fn note_merger(desk: &mut Desk, name: &[u8; 16], now: Timestamp) -> Result<()> {
    desk.put(MERGER, &[&name[..], &now.as_micros().to_le_bytes()].concat())
}

/// Whether nobody else merges.
fn may_merge(desk: &Desk, name: &[u8; 16], now: Timestamp) -> Result<bool> {
    let Some(merger) = desk.get(MERGER)? else { return Ok(true) };
    let (Some((other, _)), Some(at)) = (merger.split_first_chunk(), merger.last_chunk()) else {
        return Ok(true);
    };
    let at = i64::from_le_bytes(*at);
    Ok(other == name || now.as_micros().abs_diff(at) > GONE.unsigned_abs())
}

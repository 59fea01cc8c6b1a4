//! A recall: a few trips over one state of the store.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use memkeep_core::{
    Error, ErrorKind, Hit, RecallQuery, RecordKind, Result,
    recall::{
        Analyzer, Language, Ranked, Ranking, Recallable,
        index::{BULK, CACHE_BYTES, Cache, Changes, Coverage, Memory, Question, lost, search},
    },
};
use sqlx::{Row as _, postgres::PgRow};

use super::{
    background::Signal,
    lists::{BLOB, CHANGE, COUNT, RECORD, SESSION, TAIL, first, named, numbered, pages},
    pages::Pages,
    tail::Change,
    tender::is_begun,
};
use crate::{
    cells::{Cells, part},
    read,
    rows::{IntoRecord, decode},
    transaction::{Attempt, Transaction},
};

/// After so many trips all is read that may be needed: the next shows which records pass a filter that
/// the index does not have, and the last reads those that were found.
const HURRY: usize = 4;

/// A query, and what a handle keeps for all queries.
pub(crate) struct Asked {
    pub(crate) query: RecallQuery,
    pub(crate) shared: Arc<Shared>,
}

/// What a handle keeps for all queries.
pub(crate) struct Shared {
    language: Language,
    /// Of the pages of the indexes.
    cache: Arc<Cache>,
    /// The segments of each index that were there last: of these the first pages were read.
    known: Mutex<HashMap<RecordKind, BTreeSet<Vec<u8>>>>,
    signal: Arc<Signal>,
}

impl Shared {
    pub(crate) fn new(language: Language, signal: Arc<Signal>) -> Self {
        let cache = Arc::new(Cache::new(CACHE_BYTES));
        Self { language, cache, known: Mutex::default(), signal }
    }

    fn known(&self, kind: RecordKind) -> BTreeSet<Vec<u8>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&kind).cloned().unwrap_or_default()
    }

    fn note<'n>(&self, kind: RecordKind, names: impl Iterator<Item = &'n [u8]>) {
        let names = names.map(<[u8]>::to_vec).collect();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(kind, names);
    }
}

/// What answers a query: by the index, or if that is too far behind by reading all records.
pub(crate) async fn recall<T: Recallable + IntoRecord>(
    transaction: &mut Transaction,
    asked: &Asked,
) -> Attempt<Vec<Hit<T>>> {
    let query = &asked.query;
    if Question::new(query, T::KIND, None).is_none() {
        return by_scan(transaction, asked).await;
    }
    let known = asked.shared.known(T::KIND);
    let rows = transaction.list(&first(T::KIND, query, &known)).await?;
    let Some(begun) = Begun::read(asked, T::KIND, &rows)? else {
        return by_scan(transaction, asked).await;
    };
    let mut records = HashMap::new();
    let found = begun.search::<T>(transaction, asked, &mut records).await?;
    let missing = found.iter().map(|found| found.key);
    let missing: Vec<u64> = missing.filter(|number| !records.contains_key(number)).collect();
    if !missing.is_empty() {
        let rows = transaction.last_list(&numbered::<T>(&missing)).await?;
        records.extend(decoded::<T>(&rows)?);
    }
    let hit = |Ranked { key, score }| match records.remove(&key) {
        Some(record) => Ok(Hit { score, record }),
        None => Err(lost(T::KIND, key).into()),
    };
    found.into_iter().map(hit).collect()
}

async fn by_scan<T: Recallable + IntoRecord>(
    transaction: &mut Transaction,
    asked: &Asked,
) -> Attempt<Vec<Hit<T>>> {
    let analyzer = Analyzer::new(asked.shared.language);
    let mut ranking = Ranking::<T>::new(&asked.query, &analyzer);
    let mut wrong = None;
    read::each(transaction, T::KIND, &asked.query.scope, &mut |record| match record {
        Ok(record) => ranking.add(record),
        Err(error) => drop(wrong.get_or_insert(error)),
    })
    .await?;
    if let Some(error) = wrong {
        return Err(error.into());
    }
    let found = ranking.finish();
    let ids = found.iter().map(|found| found.key.as_ref());
    let mut records = read::by_ids::<T>(transaction, &ids.collect::<Vec<_>>()).await?;
    let hit = |found: Ranked<T::Id>| {
        Some(Hit { score: found.score, record: records.remove(found.key.as_ref())? })
    };
    Ok(found.into_iter().filter_map(hit).collect())
}

/// The blobs among the rows of a list.
fn blobs(rows: &[PgRow]) -> Attempt<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut blobs = Vec::new();
    for row in rows {
        if part(row)? == BLOB {
            blobs.push((row.try_get(1)?, row.try_get(2)?));
        }
    }
    Ok(blobs)
}

/// The records among them, by number.
fn decoded<T: IntoRecord>(rows: &[PgRow]) -> Attempt<Vec<(u64, T)>> {
    let mut records = Vec::new();
    for row in rows {
        if part(row)? == RECORD {
            let number = Cells::new(row, T::SHAPE.table).pk()?;
            records.push((number.unsigned_abs(), decode::<T>(row)?));
        }
    }
    Ok(records)
}

/// A recall by the index, after its first trip.
struct Begun {
    pages: Pages,
    newest: Memory,
    /// Of the session that the query names; none if it is not there.
    session: Option<u64>,
    analyzer: Analyzer,
}

impl Begun {
    /// None if there is no index, or too much has come since it was written.
    fn read(asked: &Asked, kind: RecordKind, rows: &[PgRow]) -> Attempt<Option<Self>> {
        let pages = Pages::new(blobs(rows)?);
        let mut is_begun = is_begun(&pages, asked.shared.language)?;
        let (mut count, mut session, mut changes) = (0_i64, None, Vec::new());
        let mut last: Option<i64> = None;
        for row in rows {
            match part(row)? {
                COUNT => (count, last) = (row.try_get(1)?, row.try_get(2)?),
                SESSION => session = Some(row.try_get::<i64, _>(1)?.unsigned_abs()),
                CHANGE if is_begun => changes.push(Change::read(kind, row, 1)?),
                _ => {}
            }
        }
        is_begun &= last.is_some();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let is_foreign = Coverage::is_foreign(&pages, asked.shared.language)?;
        if (!is_begun || count >= BULK) && !is_foreign {
            // Whoever is to see to it may have ended.
            asked.shared.signal.urge(&[kind]);
        }
        if !is_begun || count > TAIL {
            return Ok(None);
        }
        let analyzer = Analyzer::new(asked.shared.language);
        let mut newest = Changes::default();
        for change in &changes {
            change.put(kind, &analyzer, &mut newest);
        }
        let newest = Memory::of(kind, newest)?;
        Ok(Some(Self { pages, newest, session, analyzer }))
    }

    /// Searches, as often as there are pages to be read first. Records that are read for a filter are put
    /// into `records`.
    async fn search<T: Recallable + IntoRecord>(
        self,
        transaction: &mut Transaction,
        asked: &Asked,
        records: &mut HashMap<u64, T>,
    ) -> Attempt<Vec<Ranked<u64>>> {
        let query = &asked.query;
        if query.session.is_some() && T::KIND == RecordKind::Turn && self.session.is_none() {
            return Ok(Vec::new());
        }
        let lacks = Question::lacks(query, T::KIND);
        let mut search = Search {
            begun: self,
            kind: T::KIND,
            query: query.clone(),
            cache: Arc::clone(&asked.shared.cache),
            passes: lacks.then(HashMap::new),
            unknown: BTreeSet::new(),
        };
        let mut trips = 1;
        loop {
            search.begun.pages.hurries = trips >= HURRY || lacks && trips + 1 >= HURRY;
            let run = move || {
                let found = search.run();
                (search, found)
            };
            let cut =
                |e| Error::new(ErrorKind::Unexpected, "the search was cut short").caused_by(e);
            let found;
            (search, found) = tokio::task::spawn_blocking(run).await.map_err(cut)?;
            let keys = search.begun.pages.take_wanted();
            let numbers: Vec<u64> = std::mem::take(&mut search.unknown).into_iter().collect();
            trips += 1;
            if keys.is_empty() && numbers.is_empty() {
                let found = found?;
                if !found.is_empty() {
                    // What has no word is not looked for anywhere.
                    asked.shared.note(T::KIND, search.begun.pages.segments());
                }
                return Ok(found);
            }
            let mut list = Vec::new();
            if !keys.is_empty() {
                list.push(pages(T::KIND, &keys));
            }
            if !numbers.is_empty() {
                list.push(numbered::<T>(&numbers) + &named(query, T::KIND));
            }
            let rows = transaction.list(&list.join("; ")).await?;
            search.begun.pages.take_in(keys, blobs(&rows)?);
            let mut passing: HashMap<u64, bool> = numbers.into_iter().map(|n| (n, false)).collect();
            for (number, record) in decoded::<T>(&rows)? {
                if record.passes(query) {
                    passing.insert(number, true);
                    records.insert(number, record);
                }
            }
            if let Some(passes) = &mut search.passes {
                passes.extend(passing);
            }
        }
    }
}

/// A search that may have to be run again.
struct Search {
    begun: Begun,
    kind: RecordKind,
    query: RecallQuery,
    cache: Arc<Cache>,
    /// Which records pass a filter that the index does not have, as far as is known; none if there is no
    /// such filter.
    passes: Option<HashMap<u64, bool>>,
    /// Of which that is to be known.
    unknown: BTreeSet<u64>,
}

impl Search {
    fn run(&mut self) -> Result<Vec<Ranked<u64>>> {
        let Self { begun, kind, query, cache, passes, unknown } = self;
        let Some(question) = Question::new(query, *kind, begun.session) else {
            return Ok(Vec::new());
        };
        let Begun { pages, newest, analyzer, .. } = begun;
        let Some(passes) = passes else {
            return search(pages, cache, newest, *kind, &question, analyzer, None);
        };
        let mut eligible = |number| {
            let passes = passes.get(&number).copied();
            if passes.is_none() {
                unknown.insert(number);
            }
            // It is taken for one that passes, unless none is to be missed that may.
            Ok(passes.unwrap_or(!pages.hurries))
        };
        search(pages, cache, newest, *kind, &question, analyzer, Some(&mut eligible))
    }
}

//! Recall of the ten best of many episodes, beside full-text search by hand in the same server.

use std::time::{Duration, Instant};

use memkeep::{Batch, MemoryBackend, NewEpisode, RecallQuery, recall::Scorer};
use memkeep_bench_common::{Corpus, median};
use memkeep_postgres_testing::Server;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::Fallible;

/// How many episodes are committed at once.
const BATCH: usize = 1_000;

/// The same texts as memkeep's, as one would index them by hand.
const BY_HAND: [&str; 4] = [
    "CREATE TABLE by_hand AS SELECT pk, created_at, problem AS text, \
     to_tsvector('english', problem) AS terms FROM memkeep.episodes",
    "ALTER TABLE by_hand ADD PRIMARY KEY (pk)",
    "CREATE INDEX by_hand_terms ON by_hand USING gin (terms)",
    "VACUUM ANALYZE by_hand",
];

pub async fn recall(server: &Server, episodes: usize, queries: usize) -> Fallible<()> {
    let url = server.url("postgres");
    let corpus = Corpus::new(1);
    let store = memkeep::open(&url).await?;
    let started = Instant::now();
    for from in (0..episodes).step_by(BATCH) {
        let texts = (from..episodes.min(from + BATCH)).map(|n| corpus.document(n));
        store.commit(texts.map(|text| NewEpisode::new(text, "")).collect::<Batch>()).await?;
    }
    println!("{episodes} episodes stored in {:.0} s", started.elapsed().as_secs_f64());
    let started = Instant::now();
    store.reindex().await?;
    println!("indexed anew in {:.0} s", started.elapsed().as_secs_f64());
    let mut hand = PgConnection::connect(&url).await?;
    let started = Instant::now();
    for sql in BY_HAND {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut hand).await?;
    }
    println!("indexed by hand in {:.0} s", started.elapsed().as_secs_f64());
    store.close().await?;

    let store = memkeep::open(&url).await?;
    let questions: Vec<String> =
        (0..queries).map(|n| corpus.query(n, episodes).join(" ")).collect();
    println!("scorer   first, ms  once more, median ms  worst ms");
    for scorer in [Scorer::Overlap, Scorer::Bm25] {
        let first = all(&*store, &questions, scorer).await?;
        let again = all(&*store, &questions, scorer).await?;
        println!(
            "{:7}  {:>9.2}  {:>20.2}  {:>8.2}",
            format!("{scorer:?}"),
            millis(first[0]),
            median(again.iter().copied().map(millis)),
            again.iter().copied().map(millis).fold(0.0, f64::max),
        );
    }
    let mut times = Vec::new();
    // By hand it takes long.
    for question in questions.iter().take(20) {
        let started = Instant::now();
        let query = question.split(' ').collect::<Vec<_>>().join(" | ");
        let rows = sqlx::query(
            "SELECT pk, text, ts_rank(terms, q) FROM by_hand, to_tsquery('english', $1) AS q \
             WHERE terms @@ q ORDER BY ts_rank(terms, q) DESC, created_at DESC LIMIT 10",
        )
        .bind(query)
        .fetch_all(&mut hand)
        .await?;
        assert!(rows.iter().all(|row| row.try_get::<i64, _>(0).is_ok()));
        times.push(millis(started.elapsed()));
    }
    println!("by hand, median ms: {:.2}", median(times));
    Ok(())
}

async fn all(
    store: &dyn MemoryBackend,
    questions: &[String],
    scorer: Scorer,
) -> Fallible<Vec<Duration>> {
    let mut times = Vec::new();
    for question in questions {
        let query = RecallQuery::new(question.as_str()).k(10_usize).scorer(scorer);
        let started = Instant::now();
        let hits = store.recall(&query).await?;
        times.push(started.elapsed());
        assert!(!hits.is_empty(), "the words are of an episode");
    }
    Ok(times)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

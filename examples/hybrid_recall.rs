//! Words and meaning: recall fused with the ranking of a caller's own index of embeddings.
//! `cargo run --example hybrid_recall`

use std::collections::HashMap;

use memkeep::{EpisodeId, NewEpisode, RecallQuery, Result, Scope, recall::fuse};

/// Stands for a model: texts that share parts of words are near each other. A real one knows more.
fn embed(text: &str) -> HashMap<String, f32> {
    let letters: Vec<char> = text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    let mut vector = HashMap::new();
    for gram in letters.windows(3) {
        *vector.entry(gram.iter().collect()).or_default() += 1.0;
    }
    let length = vector.values().map(|x| x * x).sum::<f32>().sqrt();
    for x in vector.values_mut() {
        *x /= length;
    }
    vector
}

fn cosine(a: &HashMap<String, f32>, b: &HashMap<String, f32>) -> f32 {
    a.iter().map(|(gram, x)| x * b.get(gram).copied().unwrap_or_default()).sum()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let store = memkeep::open("inmem:").await?;
    // The caller's index: ids of episodes with vectors. It may be anything that ranks ids.
    let mut vectors = Vec::new();
    for (problem, summary) in [
        ("nightly build runs out of memory", "the linker is killed; fewer jobs help"),
        ("checkout page is slow", "an index on orders helps"),
        ("payments time out at night", "the backup held a lock"),
        ("memory of the worker grows", "a cache without a bound"),
    ] {
        let episode = store.add_episode(NewEpisode::new(problem, summary)).await?;
        vectors.push((episode.id, embed(&format!("{problem} {summary}"))));
    }

    let question = "why is the paying so slow at midnight?";
    let by_words: Vec<EpisodeId> = store
        .recall(&RecallQuery::new(question).k(20_usize))
        .await?
        .into_iter()
        .map(|hit| hit.record.id)
        .collect();
    let asked = embed(question);
    vectors.sort_by(|a, b| cosine(&b.1, &asked).total_cmp(&cosine(&a.1, &asked)));
    let by_meaning: Vec<EpisodeId> = vectors.into_iter().take(20).map(|(id, _)| id).collect();

    for found in fuse(&[by_words, by_meaning], 3) {
        if let Some(episode) = store.episode(&Scope::All, &found.key).await? {
            println!("{:.4} {}: {}", found.score, episode.problem, episode.summary);
        }
    }
    store.close().await
}

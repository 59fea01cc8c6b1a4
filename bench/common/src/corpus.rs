use crate::Random;

/// Distinct words.
const WORDS: u32 = 50_000;
/// The weight of the word of rank r (from 1) is 1 / (r + SHIFT): Zipf-Mandelbrot, exponent 1.
const SHIFT: f64 = 2.7;
/// The least and the greatest number of words in a document.
const LENGTHS: (usize, usize) = (40, 60);
/// Words of a document in a query.
const QUERY: usize = 6;

/// Documents with the distribution of words that texts have, from a seed: the n-th document is the
/// same whichever were made before it, so none needs to be kept.
pub struct Corpus {
    seed: u64,
    words: Vec<String>,
    /// The sum of the weights up to each word, over that of all.
    cumulated: Vec<f64>,
}

impl Corpus {
    /// The corpus of a seed.
    pub fn new(seed: u64) -> Self {
        let mut cumulated: Vec<f64> = (1..=WORDS)
            .scan(0.0, |sum, rank| {
                *sum += 1.0 / (f64::from(rank) + SHIFT);
                Some(*sum)
            })
            .collect();
        let total = cumulated.last().copied().unwrap_or(1.0);
        for sum in &mut cumulated {
            *sum /= total;
        }
        Self { seed, words: (0..WORDS).map(word).collect(), cumulated }
    }

    /// The n-th document: 40 to 60 words, about 350 bytes.
    pub fn document(&self, n: usize) -> String {
        self.tokens(n).join(" ")
    }

    /// The n-th query over the first `documents` documents: six words of one of them, which may be
    /// the same word twice.
    pub fn query(&self, n: usize, documents: usize) -> Vec<&str> {
        let mut random = Random::new(self.seed ^ (n as u64).wrapping_mul(0xd6e8_feb8_6659_fd93));
        let mut tokens = self.tokens(random.below(documents));
        (0..QUERY).map(|_| tokens.swap_remove(random.below(tokens.len()))).collect()
    }

    fn tokens(&self, n: usize) -> Vec<&str> {
        let mut random = Random::new(Random::new(self.seed.wrapping_add(n as u64)).bits());
        let length = LENGTHS.0 + random.below(LENGTHS.1 - LENGTHS.0 + 1);
        (0..length).map(|_| self.token(random.unit())).collect()
    }

    fn token(&self, at: f64) -> &str {
        let rank = self.cumulated.partition_point(|sum| *sum <= at);
        &self.words[rank.min(self.words.len() - 1)]
    }
}

/// Five or seven letters, consonants and vowels by turns: distinct for each number, no stop word, and
/// ending so that no stemmer shortens it and makes two words one.
fn word(number: u32) -> String {
    const FIRST: &[u8] = b"bdfghklmnprstvwz";
    const VOWELS: &[u8] = b"aeiou";
    const LAST: &[u8] = b"bfgkpvxz";
    // Neighbours in frequency are no neighbours in the alphabet: the factor is prime to the count.
    let mut rest = usize::try_from(u64::from(number) * 30_011 % u64::from(WORDS)).unwrap_or(0);
    let mut letter = |letters: &[u8]| {
        let letter = letters[rest % letters.len()];
        rest /= letters.len();
        char::from(letter)
    };
    // 8 * 5 * 16 * 5 * 16 numbers are told apart by five letters; the count is less.
    let mut letters = vec![letter(LAST), letter(VOWELS), letter(FIRST), letter(VOWELS)];
    letters.push(letter(FIRST));
    if number % 2 == 1 {
        letters.extend(['o', 'r']);
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn words_are_distinct() {
        assert_eq!((0..WORDS).map(word).collect::<BTreeSet<_>>().len(), WORDS as usize);
    }

    #[test]
    fn documents_are_what_is_said_of_them() {
        let corpus = Corpus::new(1);
        let bytes: usize = (0..1_000).map(|n| corpus.document(n).len()).sum();
        assert!((300_000..400_000).contains(&bytes), "{bytes}");
        for n in 0..1_000 {
            assert!((40..=60).contains(&corpus.tokens(n).len()));
        }
        assert_eq!(corpus.document(7), Corpus::new(1).document(7));
        assert_ne!(corpus.document(7), corpus.document(8));
        // Rank 1 has a share of 1 / 3.7 in about 9.5.
        let first = word(0);
        let hits = (0..1_000).flat_map(|n| corpus.tokens(n)).filter(|word| **word == first).count();
        assert!((1_200..1_700).contains(&hits), "{hits}");
    }

    #[test]
    fn a_query_has_six_words_of_one_document() {
        let corpus = Corpus::new(1);
        for n in 0..100 {
            let query = corpus.query(n, 50);
            assert_eq!(query.len(), 6);
            let holds = |d| query.iter().all(|word| corpus.tokens(d).contains(word));
            assert!((0..50).any(holds));
        }
    }
}

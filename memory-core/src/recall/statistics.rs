use super::bm25;
use super::term_counter::TermCount;

/// Document count, total length and, by query term, document frequencies of what was searched.
pub(super) struct Statistics {
    pub(super) documents: u64,
    total_length: u64,
    frequencies: Vec<u64>,
    label_frequencies: Vec<u64>,
}

/// What the statistics make of the query terms.
pub(super) struct Weights {
    idfs: Vec<f64>,
    label_idfs: Vec<f64>,
    average_length: f64,
    /// Those of short documents: most are.
    discounts: Vec<f64>,
}

/// Documents of fewer terms are short.
const SHORT: u64 = 256;

impl Statistics {
    pub(super) fn new(terms: usize) -> Self {
        Self {
            documents: 0,
            total_length: 0,
            frequencies: vec![0; terms],
            label_frequencies: vec![0; terms],
        }
    }

    pub(super) fn add(&mut self, length: u64, counts: &[TermCount]) {
        self.documents += 1;
        self.total_length += length;
        for c in counts {
            self.frequencies[c.term as usize] += 1;
            self.label_frequencies[c.term as usize] += u64::from(c.label);
        }
    }

    /// Adds documents that were counted before.
    pub(super) fn add_many(&mut self, documents: u64, length: u64) {
        self.documents += documents;
        self.total_length += length;
    }

    /// Adds to the frequencies of a term.
    pub(super) fn add_term(&mut self, term: usize, frequency: u64, labels: u64) {
        self.frequencies[term] += frequency;
        self.label_frequencies[term] += labels;
    }

    /// Takes away documents that are among these.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.documents = self.documents.saturating_sub(other.documents);
        self.total_length = self.total_length.saturating_sub(other.total_length);
        let frequencies = self.frequencies.iter_mut().chain(&mut self.label_frequencies);
        let others = other.frequencies.iter().chain(&other.label_frequencies);
        for (frequency, other) in frequencies.zip(others) {
            *frequency = frequency.saturating_sub(*other);
        }
    }

    pub(super) fn weights(&self) -> Weights {
        let idf = |frequency: &u64| bm25::idf(self.documents, *frequency);
        let average_length = bm25::average_length(self.documents, self.total_length);
        Weights {
            idfs: self.frequencies.iter().map(idf).collect(),
            label_idfs: self.label_frequencies.iter().map(idf).collect(),
            average_length,
            discounts: (0..SHORT).map(|length| bm25::discount(length, average_length)).collect(),
        }
    }
}

impl Weights {
    /// BM25 weight of a term in a document of `length`.
    pub(super) fn weight(&self, count: TermCount, length: u64) -> f64 {
        self.weight_of(count.term as usize, count.count, length)
    }

    /// The same for the term at a position.
    pub(super) fn weight_of(&self, term: usize, count: u32, length: u64) -> f64 {
        let short = usize::try_from(length).ok().and_then(|length| self.discounts.get(length));
        let discount =
            short.copied().unwrap_or_else(|| bm25::discount(length, self.average_length));
        bm25::discounted(self.idfs[term], count, discount)
    }

    /// How rare it is that the term names the speaker; 0 where it does not.
    pub(super) fn label_idf(&self, count: TermCount) -> f64 {
        if count.label { self.label_idf_of(count.term as usize) } else { 0.0 }
    }

    /// How rare it is that the term at a position names the speaker.
    pub(super) fn label_idf_of(&self, term: usize) -> f64 {
        self.label_idfs[term]
    }
}

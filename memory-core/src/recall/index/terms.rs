use super::postings::Posting;

/// Terms with their postings.
#[derive(Default)]
pub(super) struct Terms {
    keys: Vec<u8>,
    /// Where the key and the postings of each term end.
    ends: Vec<(usize, usize)>,
    /// Of all terms, one after the other.
    pub(super) postings: Vec<Posting>,
}

impl Terms {
    /// Adds a term, whose postings are those from the end of the last term's to `end`.
    pub(super) fn push(&mut self, key: &[u8], end: usize) {
        self.keys.extend_from_slice(key);
        self.ends.push((self.keys.len(), end));
    }

    /// The terms with their postings, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[Posting])> {
        let mut start = (0, 0);
        self.ends.iter().map(move |end| {
            let (key, postings) = (start.0..end.0, start.1..end.1);
            start = *end;
            (&self.keys[key], &self.postings[postings])
        })
    }
}

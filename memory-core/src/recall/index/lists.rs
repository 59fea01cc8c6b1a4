use std::collections::HashMap;

use foldhash::fast::RandomState;
use smallvec::SmallVec;

use super::{bytes::beginning, document::Role, postings::Posting, terms::Terms};

/// The postings of the terms of some documents, gathered document by document.
#[derive(Default)]
pub(super) struct Lists<'d> {
    /// Numbers the terms. They are there in place: to follow a pointer costs more than to compare.
    numbers: HashMap<SmallVec<[u8; 24]>, usize, RandomState>,
    terms: Vec<List<'d>>,
    /// Postings with the numbers of their terms.
    postings: Vec<(usize, Posting)>,
}

struct List<'d> {
    term: &'d [u8],
    /// How many postings there are, and where the last one is.
    count: usize,
    last: usize,
}

impl<'d> Lists<'d> {
    /// A term occurs in a document that is no earlier than those before.
    pub(super) fn add(&mut self, term: &'d [u8], role: Role, ordinal: u32) {
        let Self { numbers, terms, postings } = self;
        let number = match role {
            // What names the speaker counts where it occurs.
            Role::Label => match numbers.get(term) {
                Some(number) => *number,
                None => return,
            },
            Role::Counted | Role::There => numbers.get(term).copied().unwrap_or_else(|| {
                terms.push(List { term, count: 0, last: 0 });
                numbers.insert(term.into(), terms.len() - 1);
                terms.len() - 1
            }),
        };
        let list = &mut terms[number];
        let known = postings.get_mut(list.last).map(|(_, posting)| posting);
        let known = known.filter(|known| list.count > 0 && known.ordinal == ordinal);
        match (known, role) {
            (Some(known), Role::Counted) => known.count = known.count.saturating_add(1),
            (Some(known), Role::Label) => known.label = true,
            (None, Role::Counted | Role::There) => {
                list.count += 1;
                list.last = postings.len();
                postings.push((number, Posting { ordinal, count: 1, label: false }));
            }
            (Some(_), Role::There) | (None, Role::Label) => {}
        }
    }

    /// The terms in byte order, with their postings in order.
    pub(super) fn sorted(&self) -> Terms {
        let mut sorted: Vec<(u64, usize)> =
            self.terms.iter().map(|list| beginning(list.term)).zip(0..).collect();
        sorted.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| self.terms[a.1].term.cmp(self.terms[b.1].term))
        });
        let mut ends = vec![0; self.terms.len()];
        let mut terms = Terms::default();
        let mut start = 0;
        for (_, number) in sorted {
            let List { term, count, .. } = &self.terms[number];
            ends[number] = start;
            start += count;
            terms.push(term, start);
        }
        terms.postings = vec![Posting { ordinal: 0, count: 0, label: false }; start];
        for (number, posting) in &self.postings {
            terms.postings[ends[*number]] = *posting;
            ends[*number] += 1;
        }
        terms
    }
}

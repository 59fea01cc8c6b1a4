//! Recall and find over records: which record is what document, and who passes the filters. The
//! scoring itself is [`crate::recall`].

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{
    Backend, Episode, EpisodicBackend, Error, FindTurns, Hit, Note, RecallQuery, Record,
    RecordKind, ReflectiveStore, Result, Scope, SessionStore, Timestamp, Turn, Workspace,
    embedded::View,
    maintain,
    recall::{Analyzer, Document, Ranked, Ranker, Substring, index::Listed},
};

/// A kind of record that recall ranks.
pub trait Recallable: Sized + Send {
    /// Which kind it is.
    const KIND: RecordKind;
    /// What its records are named by.
    type Id: AsRef<str> + Send;

    /// The record, if it is of this kind.
    fn of(record: Record) -> Option<Self>;
    /// Its id.
    fn id(&self) -> Self::Id;
    /// Its workspace.
    fn workspace(&self) -> &Workspace;
    /// The turn that it is, if it is one.
    fn turn(&self) -> Option<&Turn>;
    /// When it was created.
    fn created_at(&self) -> Timestamp;
    /// Shows the record to `f` as a document.
    fn document<R>(&self, f: impl FnOnce(Document<'_>) -> R) -> R;
    /// Reads the record `id`.
    fn read(view: &mut dyn View, scope: &Scope, id: &Self::Id) -> Result<Option<Self>>;
    /// Whether it passes the filters of its kind.
    fn passes(&self, query: &RecallQuery) -> bool;
}

/// How a backend gives back what recall found.
#[async_trait::async_trait]
pub(crate) trait Fetch<T: Recallable>: Backend {
    async fn fetch(&self, query: &RecallQuery, id: &T::Id) -> Result<Option<T>>;
}

macro_rules! recallable {
    ($(
        $ty:ident $id:ty, $store:ident.$get:ident,
        |$record:ident| $document:expr, |$query:ident| $passes:expr;
    )*) => {$(
        impl Recallable for $ty {
            const KIND: RecordKind = RecordKind::$ty;
            type Id = $id;

            fn of(record: Record) -> Option<Self> {
                match record {
                    Record::$ty(record) => Some(record),
                    _ => None,
                }
            }

            fn id(&self) -> $id {
                self.id.clone()
            }

            fn workspace(&self) -> &Workspace {
                &self.workspace
            }

            fn turn(&self) -> Option<&Turn> {
                (self as &dyn std::any::Any).downcast_ref()
            }

            fn created_at(&self) -> Timestamp {
                self.created_at
            }

            fn document<R>(&self, f: impl FnOnce(Document<'_>) -> R) -> R {
                let $record = self;
                f($document)
            }

            fn read(view: &mut dyn View, scope: &Scope, id: &$id) -> Result<Option<Self>> {
                view.$get(scope, id)
            }

            fn passes(&self, $query: &RecallQuery) -> bool {
                let $record = self;
                $passes
            }
        }

        #[async_trait::async_trait]
        impl<B: $store + ?Sized> Fetch<$ty> for B {
            async fn fetch(&self, query: &RecallQuery, id: &$id) -> Result<Option<$ty>> {
                self.$get(&query.scope, id).await
            }
        }
    )*};
}

recallable! {
    Episode crate::EpisodeId, EpisodicBackend.episode,
    |episode| Document {
        text: &[&episode.problem, &episode.summary],
        created_at: episode.created_at.as_micros(),
        open: episode.open,
        session: None,
        eligible: true,
    },
    |query| query.open.is_none_or(|open| open == episode.open);

    Turn crate::TurnId, SessionStore.turn,
    |turn| Document {
        text: &[&turn.content],
        created_at: turn.created_at.as_micros(),
        open: false,
        session: Some((turn.session.as_str(), turn.index)),
        eligible: true,
    },
    |query| query.role.as_ref().is_none_or(|role| *role == turn.role)
        && query.tag.as_ref().is_none_or(|tag| turn.tags.contains_key(tag))
        && query.session.as_ref().is_none_or(|session| *session == turn.session);

    Note crate::NoteId, ReflectiveStore.note,
    |note| Document {
        text: &[&note.text],
        created_at: note.created_at.as_micros(),
        open: false,
        session: None,
        eligible: true,
    },
    |query| query.source.as_ref().is_none_or(|source| note.sources.contains(source));
}

/// What an index lists of a record.
pub(crate) fn listed(record: &Record) -> Option<Listed> {
    fn of<T: Recallable>(record: &T) -> Listed {
        record.document(|document| Listed {
            workspace: record.workspace().clone(),
            created_at: document.created_at,
            open: document.open,
        })
    }
    match record {
        Record::Episode(episode) => Some(of(episode)),
        Record::Turn(turn) => Some(of(turn)),
        Record::Note(note) => Some(of(note)),
        _ => None,
    }
}

/// The ranking of one query by reading everything: fed record by record in order of insertion.
pub struct Ranking<'q, T: Recallable> {
    query: &'q RecallQuery,
    ranker: Ranker<T::Id>,
}

impl<'q, T: Recallable> Ranking<'q, T> {
    /// A ranking of no record yet.
    #[must_use]
    pub fn new(query: &'q RecallQuery, analyzer: &Analyzer) -> Self {
        let scorer = query.scorer_for(T::KIND);
        let ranker = Ranker::new(&query.text, scorer, query.k, analyzer);
        Self { query, ranker }
    }

    /// Adds a record of the scope. One of another kind is passed over.
    pub fn add(&mut self, record: Record) {
        let (query, ranker) = (self.query, &mut self.ranker);
        let Some(record) = T::of(record) else { return };
        let at = record.created_at();
        let in_time = query.since.is_none_or(|t| at >= t) && query.until.is_none_or(|t| at < t);
        let id = record.id();
        let eligible = in_time && record.passes(query);
        record.document(|document| ranker.add(id, &Document { eligible, ..document }));
    }

    /// What answers the query best, in order.
    #[must_use]
    pub fn finish(self) -> Vec<Ranked<T::Id>> {
        self.ranker.finish()
    }
}

/// Recall over plain reads. A record that is deleted meanwhile is left out.
pub(crate) async fn recall<T, B>(backend: &B, query: &RecallQuery) -> Result<Vec<Hit<T>>>
where
    T: Recallable,
    B: Fetch<T> + ?Sized,
{
    let analyzer = Analyzer::new(backend.info().language);
    let mut ranking = Ranking::<T>::new(query, &analyzer);
    maintain::each(backend, T::KIND, &query.scope, |record| ranking.add(record)).await?;
    let mut hits = Vec::new();
    for Ranked { key, score } in ranking.finish() {
        if let Some(record) = backend.fetch(query, &key).await? {
            hits.push(Hit { score, record });
        }
    }
    Ok(hits)
}

/// What a find looks for, checked.
pub(crate) struct Finder<'q> {
    find: &'q FindTurns,
    needle: Substring,
}

impl<'q> Finder<'q> {
    pub(crate) fn new(find: &'q FindTurns) -> Result<Self> {
        if find.text.is_empty() {
            return Err(Error::invalid("text", "an empty text is in every turn"));
        }
        Ok(Self { find, needle: Substring::new(&find.text) })
    }

    pub(crate) fn matches(&self, role: &str, content: &str) -> bool {
        self.find.role.as_ref().is_none_or(|wanted| wanted == role) && self.needle.matches(content)
    }
}

/// Find over plain reads: keeps the newest `limit` matches in a heap.
pub(crate) async fn find<B: SessionStore + ?Sized>(
    backend: &B,
    find: &FindTurns,
) -> Result<Vec<Turn>> {
    struct Found(Reverse<Timestamp>, usize, Turn);
    impl Ord for Found {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            (self.0, self.1).cmp(&(other.0, other.1))
        }
    }
    impl PartialOrd for Found {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl PartialEq for Found {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other).is_eq()
        }
    }
    impl Eq for Found {}

    let finder = Finder::new(find)?;
    let mut newest = BinaryHeap::new();
    let mut position = 0;
    maintain::each(backend, RecordKind::Turn, &find.scope, |record| {
        if let Record::Turn(turn) = record
            && finder.matches(&turn.role, &turn.content)
        {
            position += 1;
            newest.push(Found(Reverse(turn.created_at), position, turn));
            if newest.len() > find.limit {
                newest.pop();
            }
        }
    })
    .await?;
    Ok(newest.into_sorted_vec().into_iter().map(|found| found.2).collect())
}

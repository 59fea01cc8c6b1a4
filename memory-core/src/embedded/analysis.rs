use std::{collections::HashMap, sync::Arc};

use super::View;
use crate::{
    Record, RecordKind, Result, SessionId,
    recall::{Analyzer, Document, index::Analysed},
    search::Recallable,
};

/// About how much memory documents take at most that are put into an index together.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// Turns records into documents of an index.
pub(super) struct Analysis {
    pub(super) analyzer: Arc<Analyzer>,
    /// Whether turns are to be found by their words, too.
    pub(super) has_words: bool,
    /// The numbers of sessions, as far as one state of the store has been asked for them.
    sessions: HashMap<SessionId, u64>,
}

impl Analysis {
    pub(super) fn new(analyzer: Arc<Analyzer>) -> Self {
        Self { analyzer, has_words: false, sessions: HashMap::new() }
    }

    /// What another state of the store says may differ.
    pub(super) fn forget(&mut self) {
        self.sessions.clear();
    }

    /// The document that a record of a number is. None for a turn whose session is lost: nothing leads
    /// to it.
    pub(super) fn document<T: Recallable>(
        &mut self,
        view: &dyn View,
        number: u64,
        record: &T,
    ) -> Result<Option<Analysed>> {
        let turn = match record.turn() {
            Some(turn) => match self.session(view, &turn.session)? {
                Some(session) => Some(((session, turn.index), turn.role.as_str())),
                None => return Ok(None),
            },
            None => None,
        };
        let (analyzer, has_words) = (&self.analyzer, self.has_words && turn.is_some());
        let analyse = |document: Document<'_>| {
            let workspace = record.workspace();
            let analysed = Analysed::new(T::KIND, number, workspace, &document, turn, analyzer);
            if has_words { analysed.with_words(&document) } else { analysed }
        };
        Ok(Some(record.document(analyse)))
    }

    /// The same for any record; none for one that is not recalled.
    pub(super) fn any(
        &mut self,
        view: &dyn View,
        number: u64,
        record: &Record,
    ) -> Result<Option<Analysed>> {
        match record {
            Record::Episode(episode) => self.document(view, number, episode),
            Record::Turn(turn) => self.document(view, number, turn),
            Record::Note(note) => self.document(view, number, note),
            _ => Ok(None),
        }
    }

    fn session(&mut self, view: &dyn View, id: &SessionId) -> Result<Option<u64>> {
        if let Some(number) = self.sessions.get(id) {
            return Ok(Some(*number));
        }
        let number = view.number(RecordKind::Session, id.as_str())?;
        if let Some(number) = number {
            self.sessions.insert(id.clone(), number);
        }
        Ok(number)
    }
}

use memkeep_core::{
    AuditRecord, Episode, Note, Record, RecordKind, Session, StateSlot, Step, Turn, Workspace,
};

/// A kind of record, as its own type.
pub(crate) trait Kind: Sized + 'static {
    const KIND: RecordKind;

    fn of(record: &Record) -> Option<&Self>;
    fn workspace(&self) -> &Workspace;
}

macro_rules! kinds {
    ($($kind:ident: $record:ty,)*) => {$(
        impl Kind for $record {
            const KIND: RecordKind = RecordKind::$kind;

            fn of(record: &Record) -> Option<&Self> {
                match record {
                    Record::$kind(record) => Some(record),
                    _ => None,
                }
            }

            fn workspace(&self) -> &Workspace {
                &self.workspace
            }
        }
    )*};
}

kinds! {
    Session: Session,
    Turn: Turn,
    Step: Step,
    Episode: Episode,
    Note: Note,
    State: StateSlot,
    Audit: AuditRecord,
}

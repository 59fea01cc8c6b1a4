use memkeep_core::{
    AuditRecord, Episode, Json, Note, Record, Session, StateSlot, Step, Turn, Workspace,
};
use serde::Serialize;

/// A record in the order of insertion.
#[derive(Clone, Debug)]
pub(super) struct Row<T> {
    /// Greater than that of all rows inserted before it.
    pub(super) inserted: u64,
    /// The request or the record by which it came; none if its id was generated.
    pub(super) origin: Option<Json>,
    pub(super) record: T,
}

/// What all kinds of records have.
pub(super) trait Kept: Clone + PartialEq + Serialize {
    fn id(&self) -> &str;
    fn workspace(&self) -> &Workspace;
    fn record(self) -> Record;
}

macro_rules! kept {
    ($($kind:ident $ty:ident $id:ident;)*) => {$(
        impl Kept for $ty {
            fn id(&self) -> &str {
                self.$id.as_ref()
            }
            fn workspace(&self) -> &Workspace {
                &self.workspace
            }
            fn record(self) -> Record {
                Record::$kind(self)
            }
        }
    )*};
}

kept! {
    Session Session id;
    Turn Turn id;
    Step Step id;
    Episode Episode id;
    Note Note id;
    State StateSlot key;
    Audit AuditRecord id;
}

/// The row of the record with this id.
pub(super) fn find<T: Kept>(rows: &[Row<T>], id: impl AsRef<str>) -> Option<&Row<T>> {
    rows.iter().find(|row| row.record.id() == id.as_ref())
}

/// The record with this id, to be changed.
pub(super) fn find_mut<T: Kept>(rows: &mut [Row<T>], id: impl AsRef<str>) -> Option<&mut T> {
    let row = rows.iter_mut().find(|row| row.record.id() == id.as_ref());
    row.map(|row| &mut row.record)
}

/// A request or record as it is compared with the one by which a row came.
pub(super) fn origin(value: &impl Serialize) -> Option<Json> {
    serde_json::to_value(value).ok()
}

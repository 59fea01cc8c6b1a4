use memkeep_core::Record;

/// What [`Factory::damage`](crate::Factory::damage) does to what is stored of one record. Nothing
/// else changes: neither other records nor what was made of this one, such as the counts of its
/// session and the entries of indexes.
#[derive(Clone, Debug)]
pub enum Damage {
    /// What is stored of this record can no longer be decoded.
    Undecodable(Record),
    /// What is stored of this record is now this: a session with other counts, total, next indexes
    /// and `last_active`, or an audit record with another decision and hash. Its other fields are as
    /// they were.
    Altered(Record),
}

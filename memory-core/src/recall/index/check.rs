use std::collections::BTreeMap;

use super::{
    blobs::Blobs,
    page::Kind,
    part::{Part, Walk},
    root::Root,
    segment::{Segment, Sign},
};
use crate::{Result, Workspace};

/// A document as the index has it, for comparison with the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its record's.
    pub workspace: Workspace,
    /// Microseconds since the epoch.
    pub created_at: i64,
    /// Whether it is an open episode.
    pub open: bool,
}

/// Reads all of an index: its documents, by the numbers of their records. `Corrupt` if a blob is
/// damaged or missing.
pub fn documents(blobs: &dyn Blobs) -> Result<BTreeMap<u64, Listed>> {
    let mut documents = BTreeMap::new();
    for root in Root::all(blobs)? {
        root.check(blobs)?;
        let segment = Segment::new(blobs, root, None);
        for sign in [Sign::Removes, Sign::Adds] {
            let part = Part::new(&segment, sign);
            let mut walk = Walk::new(Kind::Workspaces);
            while let Some(row) = walk.advance(&part)? {
                let name = std::str::from_utf8(row.0.key(row.1)).map_err(|_| segment.damaged())?;
                let workspace = Workspace::from(name);
                for ordinal in part.stretch(row)?.ordinals {
                    let (values, row) = part.values(ordinal)?;
                    let number = values.number(row);
                    if sign == Sign::Removes {
                        documents.remove(&number);
                        continue;
                    }
                    let listed = Listed {
                        workspace: workspace.clone(),
                        created_at: values.created_at(row),
                        open: values.open(row),
                    };
                    documents.insert(number, listed);
                }
            }
        }
    }
    Ok(documents)
}

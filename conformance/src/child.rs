//! The process that the crash clauses kill.

use std::sync::Arc;

use crate::Factory;

/// Where the folder of the store stands that a child is to write to. Without it this is no child.
pub(crate) const FOLDER: &str = "MEMKEEP_CONFORMANCE_CHILD";

/// Runs the child, if this process is one; it ends by being killed.
pub fn child(factory: Arc<dyn Factory>) {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let _ = (factory, folder);
}

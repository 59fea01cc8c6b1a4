//! What a backend says of itself, as far as the factory shows whether it is so.

#![allow(clippy::unused_async, reason = "clauses are async, whatever they call")]

use memkeep_core::{Durability, RecordKind, Sharing};

use super::bundle::kinds;
use crate::{Case, Failure, Verdict, failure::must_equal};

pub(crate) async fn kinds_are_those_of_the_parts(case: &mut Case) -> Verdict {
    let told = case.backend().info().kinds;
    let each = RecordKind::ALL.into_iter().filter(|kind| told.contains(kind));
    let each: Vec<RecordKind> = each.collect();
    must_equal!(each, kinds(&case.handle()), "info().kinds: those of the handle's parts");
    must_equal!(told.len(), each.len(), "how many kinds info() names, each once: {told:?}");
    Ok(())
}

pub(crate) async fn durability_shows(case: &mut Case) -> Verdict {
    let told = case.backend().info().durability;
    let expected = match (told, case.factory.abilities().reopen) {
        (Durability::Volatile, true) => "Process or Power, for the factory can reopen the store",
        (Durability::Process | Durability::Power, false) => {
            "Volatile, for the factory cannot reopen the store; or the ability `reopen`"
        }
        _ => return Ok(()),
    };
    Err(Failure::new(format!("info().durability: {expected}"), format!("{told:?}")))
}

pub(crate) async fn sharing_shows(case: &mut Case) -> Verdict {
    let told = case.backend().info().sharing;
    let expected = match (told, case.factory.abilities().second_handle) {
        (Sharing::Handle, true) => "Machine or Network, for the factory can open a second handle",
        (Sharing::Machine | Sharing::Network, false) => {
            "Handle, for the factory cannot open a second one; or the ability `second_handle`"
        }
        _ => return Ok(()),
    };
    Err(Failure::new(format!("info().sharing: {expected}"), format!("{told:?}")))
}

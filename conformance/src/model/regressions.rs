//! Programs that found something once.

use super::command::Program;
use crate::Failure;

macro_rules! regressions {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../regressions/", $name, ".json")))),*]
    };
}

/// Each is a file in `regressions/`, as a failure prints it.
const REGRESSIONS: &[(&str, &str)] = regressions! {
    "replayed_restore"
};

/// The names and the programs.
pub(super) fn all() -> Result<Vec<(&'static str, Program)>, Failure> {
    let read = |(name, json): &(&'static str, &str)| match serde_json::from_str(json) {
        Ok(program) => Ok((*name, program)),
        Err(e) => Err(Failure::new(format!("{name}.json is a program"), e.to_string())),
    };
    REGRESSIONS.iter().map(read).collect()
}

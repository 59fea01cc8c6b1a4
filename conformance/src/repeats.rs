//! How often clauses repeat what they draw by lot.

const CASES: u32 = 24;
const HISTORIES: u32 = 6;
const KILLS: u32 = 10;

/// What a variable is set to; an empty one is not set.
pub(crate) fn variable_set(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|text| !text.is_empty())
}

/// A run that was asked for otherwise than it can be done must not pass for one that was done.
fn asked_for(variable: &str, default: u32) -> u32 {
    let Some(text) = variable_set(variable) else { return default };
    match text.parse() {
        Ok(0) | Err(_) => panic!("{variable} is {text:?}, not a number of 1 or more"),
        Ok(number) => number,
    }
}

/// How many random programs are run: `MEMKEEP_CASES`.
pub(crate) fn cases() -> u32 {
    asked_for("MEMKEEP_CASES", CASES)
}

/// How many concurrent histories are made: in proportion to the random programs.
pub(crate) fn histories() -> u32 {
    cases().saturating_mul(HISTORIES).div_ceil(CASES)
}

/// How often a writer is killed: `MEMKEEP_KILLS`.
pub(crate) fn kills() -> u32 {
    asked_for("MEMKEEP_KILLS", KILLS)
}

/// How many times longer than usual a clause may take.
pub(crate) fn patience() -> u32 {
    cases().div_ceil(CASES).max(kills().div_ceil(KILLS)).max(1)
}

use std::sync::Arc;

use crate::{Abilities, Factory, Handle, Need, Part};

/// What a macro line says: which of the macros it is, and what is declared as lacking.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct MacroLine {
    /// The macro, without its `!`.
    pub name: &'static str,
    /// What is lacking, each with the reason.
    pub lacks: &'static [(Lack, &'static str)],
}

/// What a factory cannot do, or its store has not.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// One of [`Need::ABILITIES`].
    Need(Need),
    /// One of [`Part::SINGLE`].
    Part(Part),
}

/// The lacks under the names that they have in a macro line.
#[doc(hidden)]
#[allow(non_upper_case_globals, missing_docs, reason = "named as in the macro line")]
pub mod lacks {
    use super::{
        Lack::{self, Need, Part},
        Need as N, Part as P,
    };

    pub const lacks_reopen: Lack = Need(N::Reopen);
    pub const lacks_second_handle: Lack = Need(N::SecondHandle);
    pub const lacks_kill: Lack = Need(N::Kill);
    pub const lacks_faults: Lack = Need(N::Faults);
    pub const lacks_damage: Lack = Need(N::Damage);
    pub const lacks_copy: Lack = Need(N::Copy);
    pub const lacks_episodic: Lack = Part(P::Episodic);
    pub const lacks_sessions: Lack = Part(P::Sessions);
    pub const lacks_reflective: Lack = Part(P::Reflective);
}

impl MacroLine {
    /// That of a suite without lacks.
    pub(crate) const SUITE: Self = Self { name: "suite", lacks: &[] };

    /// Whether the line declares what the factory lacks, and nothing else.
    ///
    /// # Panics
    /// If not, with what to change.
    pub fn check(&self, factory: &Arc<dyn Factory>) {
        let handle = Handle::of_fresh_store(factory).unwrap_or_else(|text| panic!("{text}"));
        let mismatches = self.mismatches(factory.abilities(), &handle.parts());
        assert!(mismatches.is_empty(), "\n{}\n", mismatches.join("\n"));
    }

    /// Why `lack` is declared.
    pub(crate) fn reason(&self, lack: Lack) -> Option<&'static str> {
        self.lacks.iter().find(|(declared, _)| *declared == lack).map(|(_, reason)| *reason)
    }

    /// What is to be changed, a sentence each.
    fn mismatches(&self, abilities: Abilities, parts: &[Part]) -> Vec<String> {
        let needs = Need::ABILITIES.into_iter().filter_map(|need| {
            let name = need.as_str();
            match (abilities.include(need), self.reason(Lack::Need(need))) {
                (true, Some(_)) => Some(format!(
                    "`lacks_{name}` is declared, but the factory's abilities include `{name}`: \
                     remove one of them."
                )),
                (false, None) => Some(format!(
                    "The factory's abilities do not include `{name}`: add `lacks_{name} = \"why\"` \
                     to the macro line, or `.{name}()` to the abilities."
                )),
                _ => None,
            }
        });
        let parts = Part::SINGLE.into_iter().filter_map(|part| {
            let (name, of) = (part.as_str(), part.trait_name());
            let tested = self.name == MacroLine::SUITE.name || self.name == name;
            let reason = self.reason(Lack::Part(part));
            match (parts.contains(&part), tested, reason) {
                (true, true, Some(_)) => Some(format!(
                    "`lacks_{name}` is declared, but the factory's handle has a {of}: remove one of \
                     them."
                )),
                (true, false, _) => Some(format!(
                    "The factory's handle has a {of}, which `{}!` does not test: write `suite!`.",
                    self.name
                )),
                (false, true, None) => {
                    let only = match parts {
                        [only] => format!(", or `{}!` for `{}!`", only.as_str(), self.name),
                        _ => String::new(),
                    };
                    Some(format!(
                        "The factory's handle has no {of}: give it one with `Handle::with_{name}`, \
                         or write `lacks_{name} = \"why\"` in the macro line{only}."
                    ))
                }
                _ => None,
            }
        });
        needs.chain(parts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Abilities {
        Abilities::new().reopen().second_handle().kill().faults().damage().copy()
    }

    #[test]
    fn a_line_that_matches_has_nothing_to_change() {
        assert_eq!(MacroLine::SUITE.mismatches(all(), &Part::SINGLE), [""; 0]);
        let line = MacroLine {
            name: "suite",
            lacks: &[(lacks::lacks_sessions, "none"), (lacks::lacks_reopen, "volatile")],
        };
        let abilities = Abilities { reopen: false, ..all() };
        assert_eq!(line.mismatches(abilities, &[Part::Episodic, Part::Reflective]), [""; 0]);
        let line = MacroLine { name: "sessions", lacks: &[] };
        assert_eq!(line.mismatches(all(), &[Part::Sessions]), [""; 0]);
    }

    #[test]
    fn abilities_and_lacks_exclude_each_other() {
        let lacks = &[(lacks::lacks_kill, "volatile")];
        let line = MacroLine { name: "suite", lacks };
        let abilities = Abilities { second_handle: false, ..all() };
        let expected = [
            "The factory's abilities do not include `second_handle`: add \
             `lacks_second_handle = \"why\"` to the macro line, or `.second_handle()` to the abilities.",
            "`lacks_kill` is declared, but the factory's abilities include `kill`: remove one of them.",
        ];
        assert_eq!(line.mismatches(abilities, &Part::SINGLE), expected);
    }

    #[test]
    fn the_wrong_macro_is_told_from_the_right_one() {
        let expected = [
            "The factory's handle has no SessionStore: give it one with `Handle::with_sessions`, or \
             write `lacks_sessions = \"why\"` in the macro line, or `episodic!` for `suite!`.",
            "The factory's handle has no ReflectiveStore: give it one with \
             `Handle::with_reflective`, or write `lacks_reflective = \"why\"` in the macro line, or \
             `episodic!` for `suite!`.",
        ];
        assert_eq!(MacroLine::SUITE.mismatches(all(), &[Part::Episodic]), expected);
        let line = MacroLine { name: "episodic", lacks: &[] };
        let expected =
            ["The factory's handle has a SessionStore, which `episodic!` does not test: write \
             `suite!`."];
        assert_eq!(line.mismatches(all(), &[Part::Episodic, Part::Sessions]), expected);
        let line = MacroLine { name: "suite", lacks: &[(lacks::lacks_sessions, "none")] };
        let expected = [
            "`lacks_sessions` is declared, but the factory's handle has a SessionStore: remove one \
             of them.",
        ];
        assert_eq!(line.mismatches(all(), &Part::SINGLE), expected);
    }
}

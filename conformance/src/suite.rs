//! The macros that write the tests.

/// One test for every clause.
///
/// `suite!(MyFactory)`, or with what the factory cannot do, or the store has not, and why, in any
/// order: `suite!(MyFactory, lacks_kill = "volatile", lacks_sessions = "keeps notes only")`. The first
/// argument is an expression that makes the factory.
///
/// | lack | the factory has not |
/// |---|---|
/// | `lacks_reopen`, `lacks_second_handle`, `lacks_kill`, `lacks_faults`, `lacks_damage`, `lacks_copy` | that ability; see [`Abilities`](crate::Abilities) |
/// | `lacks_episodic`, `lacks_sessions`, `lacks_reflective` | that part in its [`Handle`](crate::Handle) |
///
/// The tests are in a module `conformance`; one clause is run by
/// `cargo test --test conformance conformance::turn_order_01 -- --exact`, where `tests/conformance.rs`
/// has the macro line.
#[macro_export]
macro_rules! suite {
    ($factory:expr $(, $lack:ident = $reason:literal)* $(,)?) => {
        $crate::__memkeep_tests!(suite [$factory] [$($lack = $reason,)*]);
    };
}

/// The clauses of `EpisodicBackend`, for a backend with that part only. See [`suite!`].
#[macro_export]
macro_rules! episodic {
    ($factory:expr $(, $lack:ident = $reason:literal)* $(,)?) => {
        $crate::__memkeep_tests!(episodic [$factory] [$($lack = $reason,)*]);
    };
}

/// The clauses of `SessionStore`, for a backend with that part only. See [`suite!`].
#[macro_export]
macro_rules! sessions {
    ($factory:expr $(, $lack:ident = $reason:literal)* $(,)?) => {
        $crate::__memkeep_tests!(sessions [$factory] [$($lack = $reason,)*]);
    };
}

/// The clauses of `ReflectiveStore`, for a backend with that part only. See [`suite!`].
#[macro_export]
macro_rules! reflective {
    ($factory:expr $(, $lack:ident = $reason:literal)* $(,)?) => {
        $crate::__memkeep_tests!(reflective [$factory] [$($lack = $reason,)*]);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __memkeep_tests {
    ($level:ident [$factory:expr] [$($lack:ident = $reason:literal,)*]) => {
        pub(crate) mod conformance {
            #[allow(unused_imports)]
            use super::*;

            fn factory() -> ::std::sync::Arc<dyn $crate::Factory> {
                ::std::sync::Arc::new($factory)
            }

            fn site() -> $crate::__private::Site {
                $crate::__private::Site::here(concat!(module_path!(), "::child"))
            }

            const LINE: $crate::__private::MacroLine = $crate::__private::MacroLine {
                name: stringify!($level),
                lacks: &[$(($crate::__private::lacks::$lack, $reason)),*],
            };

            /// Runs all clauses, for a report. The program begins with [`child_if_asked`].
            #[allow(dead_code)]
            pub(crate) fn report() -> $crate::Report {
                $crate::__private::run_suite(&factory(), &site(), &LINE)
            }

            /// What [`report`] says if no clause fails, at once: for whoever runs the tests as well.
            #[allow(dead_code)]
            pub(crate) fn expected() -> $crate::Report {
                $crate::__private::expect_suite(&factory(), &site(), &LINE)
            }

            /// In the process that the crash clauses of [`report`] kill, becomes that process;
            /// in any other, does nothing.
            #[allow(dead_code)]
            pub(crate) fn child_if_asked() {
                if site().is_asked_for() {
                    $crate::__private::child(factory());
                }
            }

            #[test]
            fn declarations_match_the_factory() {
                LINE.check(&factory());
            }

            /// Where the process that the crash clauses kill begins; does nothing in a test run.
            #[test]
            fn child() {
                $crate::__private::child(factory());
            }

            $crate::__memkeep_clauses!($crate::__memkeep_rows, { $level [$($lack = $reason,)*] });
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __memkeep_rows {
    ({ $level:ident $lacks:tt }
        $($part:ident $need:ident $name:ident $id:literal $($path:ident)::+ $rule:literal;)*) => {
        $($crate::__memkeep_row! { $level $part $need $lacks $name $id $rule })*
    };
}

/// Writes the test of a row, if it is of the level: ignored with the reason of the first lack that the
/// row's part or need is met by.
#[doc(hidden)]
#[macro_export]
macro_rules! __memkeep_row {
    (suite $part:ident $($row:tt)*) => { $crate::__memkeep_row! { @ $part $($row)* } };
    (episodic episodic $($row:tt)*) => { $crate::__memkeep_row! { @ episodic $($row)* } };
    (sessions sessions $($row:tt)*) => { $crate::__memkeep_row! { @ sessions $($row)* } };
    (reflective reflective $($row:tt)*) => { $crate::__memkeep_row! { @ reflective $($row)* } };
    ($level:ident any $($row:tt)*) => { $crate::__memkeep_row! { @ any $($row)* } };
    ($level:ident $part:ident $($row:tt)*) => {};

    (@ $part:ident reopen [lacks_reopen = $r:literal, $($rest:tt)*] $($row:tt)*) => { $crate::__memkeep_row! { @@ [#[ignore = $r]] $($row)* } };
    (@ $part:ident second_handle [lacks_second_handle = $r:literal, $($rest:tt)*] $($row:tt)*) => { $crate::__memkeep_row! { @@ [#[ignore = $r]] $($row)* } };
    (@ $part:ident kill [lacks_kill = $r:literal, $($rest:tt)*] $($row:tt)*) => { $crate::__memkeep_row! { @@ [#[ignore = $r]] $($row)* } };
    (@ $part:ident faults [lacks_faults = $r:literal, $($rest:tt)*] $($row:tt)*) => { $crate::__memkeep_row! { @@ [#[ignore = $r]] $($row)* } };
    (@ $part:ident damage [lacks_damage = $r:literal, $($rest:tt)*] $($row:tt)*) => { $crate::__memkeep_row! { @@ [#[ignore = $r]] $($row)* } };
    (@ $part:ident copy [lacks_copy = $r:literal, $($rest:tt)*] $($row:tt)*) => { $crate::__memkeep_row! { @@ [#[ignore = $r]] $($row)* } };
    (@ episodic $need:ident [lacks_episodic = $r:literal, $($rest:tt)*] $($row:tt)*) => { $crate::__memkeep_row! { @@ [#[ignore = $r]] $($row)* } };
    (@ sessions $need:ident [lacks_sessions = $r:literal, $($rest:tt)*] $($row:tt)*) => { $crate::__memkeep_row! { @@ [#[ignore = $r]] $($row)* } };
    (@ reflective $need:ident [lacks_reflective = $r:literal, $($rest:tt)*] $($row:tt)*) => { $crate::__memkeep_row! { @@ [#[ignore = $r]] $($row)* } };
    (@ episodic_reflective $need:ident [lacks_episodic = $r:literal, $($rest:tt)*] $($row:tt)*) => { $crate::__memkeep_row! { @@ [#[ignore = $r]] $($row)* } };
    (@ episodic_reflective $need:ident [lacks_reflective = $r:literal, $($rest:tt)*] $($row:tt)*) => { $crate::__memkeep_row! { @@ [#[ignore = $r]] $($row)* } };
    (@ $part:ident $need:ident [$lack:ident = $r:literal, $($rest:tt)*] $($row:tt)*) => { $crate::__memkeep_row! { @ $part $need [$($rest)*] $($row)* } };
    (@ $part:ident $need:ident [] $($row:tt)*) => { $crate::__memkeep_row! { @@ [] $($row)* } };

    (@@ [$($ignore:tt)*] $name:ident $id:literal $rule:literal) => {
        #[doc = $rule]
        #[test]
        $($ignore)*
        fn $name() {
            $crate::run_clause_by_id(factory(), &site(), $id);
        }
    };
}

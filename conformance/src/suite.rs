//! The macros that write the tests.

/// One test for every clause, for a backend with all parts.
///
/// `suite!(MyFactory)`, or with what the factory cannot do and why:
/// `suite!(MyFactory, lacks_reopen = "…", lacks_second_handle = "…", lacks_kill = "…", lacks_faults = "…")`,
/// in this order. The first argument is an expression that makes the factory.
///
/// The tests are in a module `conformance`; one clause is run by
/// `cargo test conformance::turn_order_01`.
#[macro_export]
macro_rules! suite {
    ($factory:expr $(, lacks_reopen = $reopen:literal)? $(, lacks_second_handle = $second:literal)?
        $(, lacks_kill = $kill:literal)? $(, lacks_faults = $faults:literal)? $(,)?) => {
        $crate::__memkeep_tests!(
            suite [$factory]
            [reopen($($reopen)?) second_handle($($second)?) kill($($kill)?) faults($($faults)?)]
        );
    };
}

/// The clauses of `EpisodicBackend`. See [`suite!`].
#[macro_export]
macro_rules! episodic {
    ($factory:expr $(, lacks_reopen = $reopen:literal)? $(, lacks_second_handle = $second:literal)?
        $(, lacks_kill = $kill:literal)? $(, lacks_faults = $faults:literal)? $(,)?) => {
        $crate::__memkeep_tests!(
            episodic [$factory]
            [reopen($($reopen)?) second_handle($($second)?) kill($($kill)?) faults($($faults)?)]
        );
    };
}

/// The clauses of `SessionStore`. See [`suite!`].
#[macro_export]
macro_rules! sessions {
    ($factory:expr $(, lacks_reopen = $reopen:literal)? $(, lacks_second_handle = $second:literal)?
        $(, lacks_kill = $kill:literal)? $(, lacks_faults = $faults:literal)? $(,)?) => {
        $crate::__memkeep_tests!(
            sessions [$factory]
            [reopen($($reopen)?) second_handle($($second)?) kill($($kill)?) faults($($faults)?)]
        );
    };
}

/// The clauses of `ReflectiveStore`. See [`suite!`].
#[macro_export]
macro_rules! reflective {
    ($factory:expr $(, lacks_reopen = $reopen:literal)? $(, lacks_second_handle = $second:literal)?
        $(, lacks_kill = $kill:literal)? $(, lacks_faults = $faults:literal)? $(,)?) => {
        $crate::__memkeep_tests!(
            reflective [$factory]
            [reopen($($reopen)?) second_handle($($second)?) kill($($kill)?) faults($($faults)?)]
        );
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __memkeep_tests {
    ($level:ident [$factory:expr]
        [reopen($($reopen:literal)?) second_handle($($second:literal)?) kill($($kill:literal)?)
         faults($($faults:literal)?)]
    ) => {
        pub(crate) mod conformance {
            #[allow(unused_imports)]
            use super::*;

            fn factory() -> ::std::sync::Arc<dyn $crate::Factory> {
                ::std::sync::Arc::new($factory)
            }

            fn site() -> $crate::__private::Site {
                $crate::__private::Site::here(concat!(module_path!(), "::child"))
            }

            #[allow(unused_mut, unused_assignments)]
            fn lacks() -> [($crate::Need, ::std::option::Option<&'static str>); 4] {
                let (mut reopen, mut second, mut kill, mut faults) = (None, None, None, None);
                $(reopen = Some($reopen);)?
                $(second = Some($second);)?
                $(kill = Some($kill);)?
                $(faults = Some($faults);)?
                [
                    ($crate::Need::Reopen, reopen),
                    ($crate::Need::SecondHandle, second),
                    ($crate::Need::Kill, kill),
                    ($crate::Need::Faults, faults),
                ]
            }

            /// Runs all clauses, for a report. The program begins with [`child_if_asked`].
            #[allow(dead_code)]
            pub(crate) fn report() -> $crate::Report {
                $crate::__private::run_suite(&factory(), &site(), &lacks())
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
                $crate::check_declarations(&*factory(), &lacks());
            }

            /// Where the process that the crash clauses kill begins; does nothing in a test run.
            #[test]
            fn child() {
                $crate::__private::child(factory());
            }

            $crate::__memkeep_clauses!($crate::__memkeep_rows, {
                $level
                [reopen($($reopen)?) second_handle($($second)?) kill($($kill)?) faults($($faults)?)]
            });
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __memkeep_rows {
    ({ $level:ident $lacks:tt }
        $($part:ident $need:ident $name:ident $id:literal $($path:ident)::+ $rule:literal;)*) => {
        $($crate::__memkeep_row! { $level $lacks $part $need $name $id $rule })*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __memkeep_row {
    (suite $lacks:tt $part:ident $need:ident $name:ident $id:literal $rule:literal) => {
        $crate::__memkeep_row! { @test $need $lacks $name $id $rule }
    };
    (episodic $lacks:tt episodic $need:ident $name:ident $id:literal $rule:literal) => {
        $crate::__memkeep_row! { @test $need $lacks $name $id $rule }
    };
    (sessions $lacks:tt sessions $need:ident $name:ident $id:literal $rule:literal) => {
        $crate::__memkeep_row! { @test $need $lacks $name $id $rule }
    };
    (reflective $lacks:tt reflective $need:ident $name:ident $id:literal $rule:literal) => {
        $crate::__memkeep_row! { @test $need $lacks $name $id $rule }
    };
    ($level:ident $lacks:tt any $need:ident $name:ident $id:literal $rule:literal) => {
        $crate::__memkeep_row! { @test $need $lacks $name $id $rule }
    };
    ($level:ident $lacks:tt $part:ident $need:ident $name:ident $id:literal $rule:literal) => {};

    (@test reopen [reopen($reason:literal) $($rest:tt)*] $name:ident $id:literal $rule:literal) => {
        $crate::__memkeep_row! { @emit [#[ignore = $reason]] $name $id $rule }
    };
    (@test second_handle [reopen $r:tt second_handle($reason:literal) $($rest:tt)*] $name:ident $id:literal $rule:literal) => {
        $crate::__memkeep_row! { @emit [#[ignore = $reason]] $name $id $rule }
    };
    (@test kill [reopen $r:tt second_handle $s:tt kill($reason:literal) $($rest:tt)*] $name:ident $id:literal $rule:literal) => {
        $crate::__memkeep_row! { @emit [#[ignore = $reason]] $name $id $rule }
    };
    (@test faults [reopen $r:tt second_handle $s:tt kill $k:tt faults($reason:literal)] $name:ident $id:literal $rule:literal) => {
        $crate::__memkeep_row! { @emit [#[ignore = $reason]] $name $id $rule }
    };
    (@test $need:ident $lacks:tt $name:ident $id:literal $rule:literal) => {
        $crate::__memkeep_row! { @emit [] $name $id $rule }
    };

    (@emit [$($ignore:tt)*] $name:ident $id:literal $rule:literal) => {
        #[doc = $rule]
        #[test]
        $($ignore)*
        fn $name() {
            $crate::run_clause_by_id(factory(), &site(), $id);
        }
    };
}

//! Throwaway PostgreSQL servers for tests.
//!
//! A server ends with the process that started it, however that ends, and takes its files with it.
//! Tests are written in [`server_tests!`], [`suite!`] and [`pooled_suite!`]: where PostgreSQL, or `PgBouncer`
//! for the last, is not installed they are ignored and say so; with `MEMKEEP_REQUIRE_POSTGRES` set they fail there.

mod binaries;
mod log;
mod pooler;
mod server;
mod watchdog;

pub use pooler::Pooler;
pub use server::{SHARED_SERVER, Server, Stop};

/// Tests that need a server, as `async fn name() { … }`.
#[cfg(postgres)]
#[macro_export]
macro_rules! server_tests {
    ($($(#[$doc:meta])* async fn $name:ident() $body:block)*) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            let runtime = ::tokio::runtime::Builder::new_multi_thread().enable_all().build();
            runtime.unwrap().block_on(async $body)
        }
    )*};
}

/// Tests that need a server, as `async fn name() { … }`.
#[cfg(not(postgres))]
#[macro_export]
macro_rules! server_tests {
    ($($(#[$doc:meta])* async fn $name:ident() $body:block)*) => {$(
        $(#[$doc])*
        #[test]
        #[ignore = "PostgreSQL is not installed"]
        fn $name() {
            let _ = async $body;
        }
    )*};
}

/// The conformance suite, for a factory that needs a server.
#[cfg(postgres)]
#[macro_export]
macro_rules! suite {
    ($($line:tt)*) => { ::memkeep_conformance::suite!($($line)*); };
}

/// The conformance suite, for a factory that needs a server.
#[cfg(not(postgres))]
#[macro_export]
macro_rules! suite {
    ($($line:tt)*) => { $crate::ignored_suite!("PostgreSQL is not installed", $($line)*); };
}

/// The conformance suite, for a factory that needs a server and a pooler.
#[cfg(all(postgres, pgbouncer))]
#[macro_export]
macro_rules! pooled_suite {
    ($($line:tt)*) => { ::memkeep_conformance::suite!($($line)*); };
}

/// The conformance suite, for a factory that needs a server and a pooler.
#[cfg(not(all(postgres, pgbouncer)))]
#[macro_export]
macro_rules! pooled_suite {
    ($($line:tt)*) => { $crate::ignored_suite!("PgBouncer is not installed", $($line)*); };
}

/// In the place of a suite that has nothing to run on.
#[doc(hidden)]
#[macro_export]
macro_rules! ignored_suite {
    ($why:literal, $factory:expr $(, $lack:ident = $reason:literal)* $(,)?) => {
        pub(crate) mod conformance {
            use super::*;

            #[allow(dead_code)]
            pub(crate) fn report() -> ::memkeep_conformance::Report {
                let _ = || $factory;
                panic!($why)
            }

            #[allow(dead_code)]
            pub(crate) fn child_if_asked() {}

            #[test]
            #[ignore = $why]
            fn all_clauses() {
                report();
            }
        }
    };
}

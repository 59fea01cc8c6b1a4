//! Throwaway PostgreSQL servers for tests.
//!
//! A server ends with the process that started it, however that ends, and takes its files with it.
//! Tests are written in [`server_tests!`] and [`suite!`]: where PostgreSQL is not installed they are
//! ignored and say so; with `MEMKEEP_REQUIRE_POSTGRES` set they fail there.

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
    ($factory:expr $(, $lack:ident = $reason:literal)* $(,)?) => {
        pub(crate) mod conformance {
            use super::*;

            /// There is nothing to run it on.
            #[allow(dead_code)]
            pub(crate) fn report() -> ::memkeep_conformance::Report {
                let _ = || $factory;
                panic!("PostgreSQL is not installed")
            }

            #[allow(dead_code)]
            pub(crate) fn child_if_asked() {}

            #[test]
            #[ignore = "PostgreSQL is not installed"]
            fn all_clauses() {
                report();
            }
        }
    };
}

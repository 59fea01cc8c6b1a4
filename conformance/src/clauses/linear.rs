//! Concurrent calls happen one after the other.

use crate::{
    Case, Verdict,
    linearizability::{AuditChain, StateKeys, TurnIndexes, check_histories},
};

macro_rules! linear {
    ($($one:ident $two:ident $object:ident;)*) => {$(
        pub(crate) async fn $one(case: &mut Case) -> Verdict {
            check_histories::<$object>(case, &[case.handle()]).await
        }

        pub(crate) async fn $two(case: &mut Case) -> Verdict {
            let other = case.second_handle("other").await?;
            let verdict = check_histories::<$object>(case, &[case.handle(), other.clone()]).await;
            let closed = other.backend.close().await;
            verdict?;
            Ok(closed?)
        }
    )*};
}

linear! {
    state state_of_two_handles StateKeys;
    indexes indexes_of_two_handles TurnIndexes;
    audit audit_of_two_handles AuditChain;
}

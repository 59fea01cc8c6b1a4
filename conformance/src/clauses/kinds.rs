//! Clauses that hold for every kind of record that recall ranks.

/// For functions of a case and a kind: the modules `episodes`, `turns` and `notes`, with a function
/// of the case alone for each.
macro_rules! of_kinds {
    (@ $module:ident $kind:ident $($name:ident)*) => {
        pub(crate) mod $module {
            use $crate::{Case, Verdict};

            $(pub(crate) async fn $name(case: &mut Case) -> Verdict {
                super::$name(case, memkeep_core::RecordKind::$kind).await
            })*
        }
    };
    ($($name:ident)*) => {
        $crate::clauses::kinds::of_kinds! { @ episodes Episode $($name)* }
        $crate::clauses::kinds::of_kinds! { @ turns Turn $($name)* }
        $crate::clauses::kinds::of_kinds! { @ notes Note $($name)* }
    };
}
pub(crate) use of_kinds;

/// Hooks around every listing that comes in pages.
macro_rules! listings {
    ($d:expr, $($hook:tt)*) => {{
        let d: $crate::defect::Defect = $d;
        listings!(@each d [$($hook)*]
            ListSessions Session sessions, ListTurns Turn turns, ListSteps Step steps,
            ListEpisodes Episode episodes, ListNotes Note notes, ListStates StateEntry states,
            ListAudit AuditRecord audit_log, Scan Record scan)
    }};
    (@each $d:ident $hook:tt $($list:ident $row:ident $method:ident),*) => {
        $d$(.pipe(|d| listings!(@hook d $hook $list $row $method)))*
    };
    (@hook $d:ident [before |$q:ident| $body:expr] $list:ident $row:ident $method:ident) => {
        $d.before(|$q: &mut $list| $body)
    };
    (@hook $d:ident [after |$q:ident, $page:ident| $body:expr] $list:ident $row:ident $method:ident) => {
        $d.after(|$q: &$list, $page: &mut Page<$row>| $body)
    };
    (@hook $d:ident [result |$q:ident, $result:ident| $body:expr] $list:ident $row:ident $method:ident) => {
        $d.result(|$q: &$list, $result: &mut Result<Page<$row>>| $body)
    };
    // The listing by row counts: the cursor is how many rows have been seen.
    (@hook $d:ident [counted] $list:ident $row:ident $method:ident) => {
        $d.instead(|store, list: $list| async move {
            let seen = match list.after.as_ref().map(Cursor::position) {
                Some(Position::Insertion(seen)) => usize::try_from(*seen).unwrap(),
                _ => 0,
            };
            let mut all = list.clone();
            (all.limit, all.after) = (usize::MAX, None);
            let items = store.$method(&all).await?.items;
            let end = seen.saturating_add(list.limit);
            let more = list.limit > 0 && end < items.len();
            let next = more.then_some(Position::Insertion(end as u64));
            let next = next.map(|position| all.window().unwrap().cursor(position));
            let items = items.into_iter().skip(seen).take(list.limit).collect();
            Ok(Page::<$row> { items, next })
        })
    };
    // The listing that ends at a row, on whichever page it is.
    (@hook $d:ident [ends_at $end:literal] $list:ident $row:ident $method:ident) => {{
        let seen = AtomicUsize::new(0);
        $d.after(move |list: &$list, page: &mut Page<$row>| {
            let before = if list.after.is_some() { seen.load(SeqCst) } else { 0 };
            seen.store(before + page.items.len(), SeqCst);
            if before + page.items.len() > $end {
                page.items.truncate($end - before);
                page.next = None;
            }
        })
    }};
}
pub(super) use listings;

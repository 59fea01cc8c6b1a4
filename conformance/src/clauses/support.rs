//! What several clauses need.

/// `in_pages!(store.notes(ListNotes::new()), limit)` reads a listing page by page to its end.
macro_rules! in_pages {
    ($store:ident.$list:ident($query:expr), $limit:expr) => {{
        let limit: usize = $limit;
        let mut query = $query.limit(limit);
        let mut items = Vec::new();
        loop {
            let page = $store.$list(&query).await?;
            let expected = format!("a page of {limit} rows, or the last one of fewer");
            if page.items.len() > limit || (page.next.is_some() && page.items.len() < limit) {
                return Err($crate::Failure::new(expected, format!("{} rows", page.items.len())));
            }
            items.extend(page.items);
            match page.next {
                Some(next) => query = query.after(next),
                None => break items,
            }
        }
    }};
}
pub(crate) use in_pages;

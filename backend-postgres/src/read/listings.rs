use memkeep_core::{
    AuditRecord, Episode, Error, ListAudit, ListEpisodes, ListNotes, ListSessions, ListStates,
    ListSteps, ListTurns, Note, Page, Position, Scope, Session, SessionId, SessionOrder,
    StateEntry, StateSlot, Step, Timestamp, Turn, Window,
};
use sqlx::Row as _;

use super::select::{Select, to_i64};
use crate::{
    escape::{escape, unescape},
    rows::{Prompted, Table},
    statement::Statement,
    transaction::{Attempt, Transaction},
};

/// A page in the order of a time, ties by insertion.
async fn by_time<T: Table>(
    transaction: &mut Transaction,
    mut select: Select<T>,
    column: &str,
    window: &Window,
    at: impl Fn(&T) -> Timestamp,
) -> Attempt<Page<T>> {
    if let Some((time, number)) = window.time() {
        let (time, number) = (select.value(time.as_micros())?, select.value(to_i64(number))?);
        select.only(format!("({column}, r.pk) > ({time}, {number})"));
    }
    let position = |pk: i64, row: &T| Position::Time(at(row), pk.unsigned_abs());
    select.page(transaction, &format!("{column}, r.pk"), window, position).await
}

pub(crate) async fn episodes(
    transaction: &mut Transaction,
    list: &ListEpisodes,
) -> Attempt<Page<Episode>> {
    let window = list.window()?;
    let mut select = Select::in_scope(&list.scope)?;
    match list.open {
        Some(true) => select.only("r.open"),
        Some(false) => select.only("NOT r.open"),
        None => {}
    }
    by_time(transaction, select, "r.created_at", &window, |e: &Episode| e.created_at).await
}

pub(crate) async fn notes(transaction: &mut Transaction, list: &ListNotes) -> Attempt<Page<Note>> {
    let window = list.window()?;
    let select = Select::in_scope(&list.scope)?;
    by_time(transaction, select, "r.created_at", &window, |n: &Note| n.created_at).await
}

pub(crate) async fn sessions(
    transaction: &mut Transaction,
    list: &ListSessions,
) -> Attempt<Page<Session>> {
    type At = fn(&Prompted) -> Timestamp;
    let (column, at): (_, At) = match list.order {
        SessionOrder::Started => ("r.started_at", |row| row.0.started_at),
        SessionOrder::Active => ("r.last_active", |row| row.0.last_active),
    };
    let window = list.window()?;
    let mut select = Select::<Prompted>::in_scope(&list.scope)?;
    if let Some((time, number)) = window.time() {
        let (time, number) = (select.value(time.as_micros())?, select.value(to_i64(number))?);
        // One range of the index, of which the ties that have been read are passed over.
        select.only(format!("{column} <= {time} AND ({column} < {time} OR r.pk > {number})"));
    }
    let position = |pk: i64, row: &Prompted| Position::Time(at(row), pk.unsigned_abs());
    let order = format!("{column} DESC, r.pk");
    let page = select.page(transaction, &order, &window, position).await?;
    Ok(page.map(|row| row.0))
}

/// The `pk` of a session, which must be in scope.
async fn session_in_scope(
    transaction: &mut Transaction,
    scope: &Scope,
    id: &SessionId,
) -> Attempt<i64> {
    let sql = "SELECT r.pk, w.name FROM @sessions r LEFT JOIN @workspaces w ON w.pk = r.workspace \
               WHERE r.id = $1";
    let rows = transaction.rows(Statement::new(sql).bind(escape(id.as_str()))?).await?;
    let Some(row) = rows.first() else { return Err(Error::not_found("session", id).into()) };
    let name: Option<String> = row.try_get(1)?;
    let name = name
        .and_then(unescape)
        .ok_or_else(|| Error::corrupt("sessions", id, "its workspace is not there"))?;
    match scope.workspace() {
        Some(seen) if seen.as_str() != name => Err(Error::not_found("session", id).into()),
        _ => Ok(row.try_get(0)?),
    }
}

/// A page of what belongs to a session, in order of position.
async fn of_session<T: Table>(
    transaction: &mut Transaction,
    (scope, session): (&Scope, &SessionId),
    newest_first: bool,
    window: &Window,
    index: impl Fn(&T) -> u64,
) -> Attempt<Page<T>> {
    let session = session_in_scope(transaction, scope, session).await?;
    let mut select = Select::<T>::new();
    let session = select.value(session)?;
    select.only(format!("r.session = {session}"));
    let (beyond, order) = if newest_first { ("<", "r.position DESC") } else { (">", "r.position") };
    if let Some(after) = window.index() {
        let after = select.value(to_i64(after))?;
        select.only(format!("r.position {beyond} {after}"));
    }
    select.page(transaction, order, window, |_, row| Position::Index(index(row))).await
}

pub(crate) async fn turns(transaction: &mut Transaction, list: &ListTurns) -> Attempt<Page<Turn>> {
    let of = (&list.scope, &list.session);
    of_session(transaction, of, list.newest_first, &list.window()?, |t: &Turn| t.index).await
}

pub(crate) async fn steps(transaction: &mut Transaction, list: &ListSteps) -> Attempt<Page<Step>> {
    let of = (&list.scope, &list.session);
    of_session(transaction, of, false, &list.window()?, |s: &Step| s.index).await
}

/// What is sorted by workspace.
const BY_WORKSPACE: &str = " JOIN @workspaces w ON w.pk = r.workspace";

pub(crate) async fn states(
    transaction: &mut Transaction,
    (list, now): &(ListStates, Timestamp),
) -> Attempt<Page<StateEntry>> {
    let window = list.window()?;
    let mut select = Select::<StateSlot>::in_scope(&list.scope)?.join(BY_WORKSPACE);
    let at = select.value(now.as_micros())?;
    select.only(format!("r.value IS NOT NULL AND (r.expires_at IS NULL OR r.expires_at > {at})"));
    if !list.prefix.is_empty() {
        let prefix = escape(&list.prefix);
        let end = after_prefix(&prefix);
        let prefix = select.value(prefix)?;
        select.only(format!("r.key >= {prefix}"));
        if let Some(end) = end {
            let end = select.value(end)?;
            select.only(format!("r.key < {end}"));
        }
    }
    if let Some((workspace, key)) = window.state() {
        let (workspace, key) = (select.value(escape(workspace))?, select.value(escape(key))?);
        select.only(format!("w.name >= {workspace} AND (w.name > {workspace} OR r.key > {key})"));
    }
    let position = |_, slot: &StateSlot| {
        Position::Key(slot.workspace.as_str().to_owned(), slot.key.clone().into_bytes())
    };
    let page = select.page(transaction, "w.name, r.key", &window, position).await?;
    let entries = page.items.into_iter().filter_map(|slot| slot.live(*now));
    Ok(Page { items: entries.collect(), next: page.next })
}

pub(crate) async fn audit_log(
    transaction: &mut Transaction,
    list: &ListAudit,
) -> Attempt<Page<AuditRecord>> {
    let window = list.window()?;
    let mut select = Select::<AuditRecord>::in_scope(&list.scope)?;
    if list.scope.workspace().is_some() {
        if let Some(after) = window.index() {
            let after = select.value(to_i64(after))?;
            select.only(format!("r.seq > {after}"));
        }
        let position = |_, record: &AuditRecord| Position::Index(record.seq);
        return select.page(transaction, "r.seq", &window, position).await;
    }
    select = select.join(BY_WORKSPACE);
    if let Some((workspace, seq)) = window.audit() {
        let (workspace, seq) = (select.value(escape(workspace))?, select.value(to_i64(seq))?);
        select.only(format!("w.name >= {workspace} AND (w.name > {workspace} OR r.seq > {seq})"));
    }
    let position = |_, record: &AuditRecord| {
        Position::Key(record.workspace.as_str().to_owned(), record.seq.to_be_bytes().to_vec())
    };
    select.page(transaction, "w.name, r.seq", &window, position).await
}

/// The first text that comes after all that start with `prefix`, if there is one. Bytes of UTF-8
/// sort as the characters do, so it is the prefix with its last character's successor.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return Some(end);
        }
    }
    None
}

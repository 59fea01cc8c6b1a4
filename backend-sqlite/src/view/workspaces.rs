//! What is sorted or counted by workspace.

use std::collections::BTreeMap;

use memkeep_core::{
    AuditRecord, Counts, ListAudit, ListStates, Page, Position, RecordKind, Result, Scope,
    StateEntry, StateSlot, Timestamp, Workspace, WorkspaceCounts,
};

use super::{
    SqliteView,
    select::{Direction, Rows, Select},
};
use crate::error::failed;

/// Where each kind's records are counted, by an index that has nothing but the workspaces.
const COUNTED: [(RecordKind, &str); 7] = [
    (RecordKind::Session, "sessions INDEXED BY sessions_workspace WHERE TRUE"),
    (RecordKind::Turn, "turns INDEXED BY turns_workspace WHERE TRUE"),
    (RecordKind::Step, "steps INDEXED BY steps_workspace WHERE TRUE"),
    (RecordKind::Episode, "episodes INDEXED BY episodes_workspace WHERE TRUE"),
    (RecordKind::Note, "notes INDEXED BY notes_workspace WHERE TRUE"),
    (RecordKind::State, "states INDEXED BY states_live WHERE value IS NOT NULL"),
    (RecordKind::Audit, "audit INDEXED BY audit_workspace WHERE TRUE"),
];

impl SqliteView {
    /// How many records each workspace has.
    pub(super) fn count_workspaces(&self) -> Result<Vec<WorkspaceCounts>> {
        let mut all: BTreeMap<Workspace, Counts> = BTreeMap::new();
        for (kind, table) in COUNTED {
            let sql = format!("SELECT workspace, count(*) FROM {table} GROUP BY workspace");
            let mut statement = self.connection.prepare_cached(&sql).map_err(failed)?;
            let mut rows = statement.query(()).map_err(failed)?;
            while let Some(row) = rows.next().map_err(failed)? {
                let workspace = Workspace::new(row.get::<_, String>(0).map_err(failed)?);
                *all.entry(workspace).or_default().of_mut(kind) = row.get(1).map_err(failed)?;
            }
        }
        let row = |(workspace, counts)| WorkspaceCounts { workspace, counts };
        Ok(all.into_iter().map(row).collect())
    }

    /// How many records one workspace has.
    pub(crate) fn count_workspace(&self, workspace: &Workspace) -> Result<Counts> {
        let mut counts = Counts::default();
        for (kind, table) in COUNTED {
            let sql = format!("SELECT count(*) FROM {table} AND workspace = ?");
            let count = self.value(&sql, [workspace.as_str()])?;
            *counts.of_mut(kind) = count.unwrap_or_default();
        }
        Ok(counts)
    }

    /// State entries by workspace and key.
    pub(super) fn live_states(
        &self,
        list: &ListStates,
        now: Timestamp,
    ) -> Result<Page<StateEntry>> {
        let window = list.window()?;
        let end = after_prefix(&list.prefix);
        let mut page = Rows::new(&window);
        let table = "states INDEXED BY states_live WHERE value IS NOT NULL";
        self.each_workspace(&list.scope, table, window.state(), |workspace, after| {
            let mut select = Select::<StateSlot>::new(&self.connection)
                .by("states_live")
                .only("value IS NOT NULL AND workspace = ?", workspace.to_owned());
            // A key after the cursor may still be before the prefix.
            select = match after {
                Some(key) if key >= list.prefix.as_str() => select.only("key > ?", key.to_owned()),
                _ => select.only("key >= ?", list.prefix.clone()),
            };
            if let Some(end) = &end {
                select = select.only("key < ?", end.clone());
            }
            let unexpired = ("(expires_at IS NULL OR expires_at > ?)", now.as_micros());
            select.fill(&mut page, &[unexpired], "key", &|_, slot| {
                Position::Key(workspace.to_owned(), slot.key.clone().into_bytes())
            })?;
            Ok(page.wants_more())
        })?;
        let page = page.page();
        let entries = page.items.into_iter().filter_map(|slot| slot.live(now));
        Ok(Page { items: entries.collect(), next: page.next })
    }

    /// Audit records by seq; over all workspaces, by workspace first.
    pub(super) fn audit_records(&self, list: &ListAudit) -> Result<Page<AuditRecord>> {
        let window = list.window()?;
        let mut page = Rows::new(&window);
        if list.scope.workspace().is_some() {
            Select::in_scope(&self.connection, &list.scope).fill_by_number(
                &mut page,
                "seq",
                Direction::Up,
                window.index(),
                &|_, record: &AuditRecord| Position::Index(record.seq),
            )?;
            return Ok(page.page());
        }
        self.each_workspace(
            &list.scope,
            "audit WHERE TRUE",
            window.audit(),
            |workspace, after| {
                Select::new(&self.connection)
                    .only("workspace = ?", workspace.to_owned())
                    .fill_by_number(
                        &mut page,
                        "seq",
                        Direction::Up,
                        after,
                        &|_, record: &AuditRecord| {
                            Position::Key(workspace.to_owned(), record.seq.to_be_bytes().to_vec())
                        },
                    )?;
                Ok(page.wants_more())
            },
        )?;
        Ok(page.page())
    }

    /// Calls `f` with each workspace in scope that has rows in `table`, in bytewise order, until it
    /// returns false; with what of the cursor is for it. Finding the next is one look-up in an
    /// index that the workspace leads, so that ranges of a second column stay ranges.
    fn each_workspace<K: Copy>(
        &self,
        scope: &Scope,
        table: &str,
        after: Option<(&str, K)>,
        mut f: impl FnMut(&str, Option<K>) -> Result<bool>,
    ) -> Result<()> {
        if let Some(workspace) = scope.workspace() {
            return f(workspace.as_str(), after.map(|(_, key)| key)).map(drop);
        }
        let first =
            format!("SELECT workspace FROM {table} AND workspace >= ? ORDER BY workspace LIMIT 1");
        let next =
            format!("SELECT workspace FROM {table} AND workspace > ? ORDER BY workspace LIMIT 1");
        let from = after.map_or("", |(workspace, _)| workspace);
        let mut found: Option<String> = self.value(&first, [from])?;
        while let Some(workspace) = found {
            let after = after.filter(|(of, _)| *of == workspace).map(|(_, key)| key);
            if !f(&workspace, after)? {
                break;
            }
            found = self.value(&next, [&workspace])?;
        }
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::after_prefix;

    #[test]
    fn the_end_of_a_prefix_steps_over_what_is_no_character() {
        assert_eq!(after_prefix(""), None);
        assert_eq!(after_prefix("a_"), Some("a`".to_owned()));
        assert_eq!(after_prefix("a\u{d7ff}"), Some("a\u{e000}".to_owned()));
        assert_eq!(after_prefix("a\u{10ffff}"), Some("b".to_owned()));
        assert_eq!(after_prefix("\u{10ffff}"), None);
    }
}

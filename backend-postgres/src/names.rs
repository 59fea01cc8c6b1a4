use memkeep_core::{Error, Result, Workspace};
use sha2::{Digest, Sha256};

/// The longest identifier that PostgreSQL does not cut.
const MAX_IDENTIFIER: usize = 63;

/// How many advisory locks stand for all workspaces. A batch may name any number of workspaces, and
/// a server has room for some thousand locks only.
const WORKSPACE_LOCKS: u32 = 64;
/// The advisory lock of who migrates.
const MIGRATION: u32 = WORKSPACE_LOCKS + 1;
/// The advisory lock of who writes to the recall indexes.
const INDEX: u32 = WORKSPACE_LOCKS + 2;
/// Everyone shares one of two advisory locks from giving out numbers to the commit: this one and the next.
const GATE: u32 = WORKSPACE_LOCKS + 3;

/// What a store's tables and locks are called.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    schema: String,
    prefix: String,
    /// The sequence of gates, as a literal.
    gates: String,
    next_number: String,
    class: i32,
}

impl Names {
    /// Errors: `InvalidArgument` if no schema can be called so.
    pub(crate) fn new(schema: &str) -> Result<Self> {
        if schema.is_empty() || schema.len() > MAX_IDENTIFIER || schema.contains('\0') {
            let message = format_args!("a schema's name has 1 to {MAX_IDENTIFIER} bytes");
            return Err(Error::invalid("schema", message));
        }
        let hash = Sha256::digest(format!("memkeep {schema}"));
        let prefix = format!("\"{}\".", schema.replace('"', "\"\""));
        // As a literal, whatever the server takes backslashes for.
        let literal = prefix.replace('\'', "''").replace('\\', "\\\\");
        Ok(Self {
            schema: schema.to_owned(),
            next_number: format!("nextval(E'{literal}numbers')"),
            gates: format!("E'{literal}gates'"),
            prefix,
            class: i32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]),
        })
    }

    /// The schema's name as it is.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// `template` as SQL. In it `@` before a table's name stands for the schema, `@SCHEMA` for the
    /// schema's name, `@NUMBER` for the call that gives out a number, `@GATE` for the call by which a
    /// writer says that its numbers are not committed yet, and `@GATES` for the literal
    /// that names the sequence of gates.
    pub(crate) fn sql(&self, template: &str) -> String {
        let mut parts = template.split('@');
        let mut sql = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let rest = if let Some(rest) = part.strip_prefix("SCHEMA") {
                sql += self.prefix.trim_end_matches('.');
                rest
            } else if let Some(rest) = part.strip_prefix("NUMBER") {
                sql += &self.next_number;
                rest
            } else if let Some(rest) = part.strip_prefix("GATES") {
                sql += &self.gates;
                rest
            } else if let Some(rest) = part.strip_prefix("GATE") {
                sql += &self.enter_gate();
                rest
            } else {
                sql += &self.prefix;
                part
            };
            sql += rest;
        }
        sql
    }

    /// The number of the lock that a workspace has with others.
    pub(crate) fn workspace_lock(workspace: &Workspace) -> u32 {
        let hash = Sha256::digest(workspace.as_str());
        u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]) % WORKSPACE_LOCKS
    }

    /// The call that takes a workspace's lock until the transaction ends.
    pub(crate) fn lock_workspace(&self, lock: u32, shared: bool) -> String {
        self.lock(lock, shared)
    }

    /// The call by which a writer enters. Which gate is open, the sequence says, whose value is 1 or 2.
    fn enter_gate(&self) -> String {
        let (class, before, prefix) = (self.class, GATE - 1, &self.prefix);
        format!(
            "pg_advisory_xact_lock_shared({class}, \
             {before} + (SELECT last_value::int FROM {prefix}gates))"
        )
    }

    /// The template of the statement that makes writers enter by a gate, 0 or 1.
    pub(crate) fn open_gate(gate: u32) -> String {
        format!("SELECT setval(@GATES, {})", gate + 1)
    }

    /// The statement that waits for those who have entered by a gate.
    pub(crate) fn lock_gate(&self, gate: u32) -> String {
        format!("SELECT {}", self.lock(GATE + gate, false))
    }

    /// The call that keeps others from migrating.
    pub(crate) fn lock_migration(&self) -> String {
        self.lock(MIGRATION, false)
    }

    /// The call that keeps others from writing to the recall indexes; or that tells whether they are kept
    /// from it, and does not wait.
    pub(crate) fn lock_index(&self, waits: bool) -> String {
        if waits {
            return self.lock(INDEX, false);
        }
        format!("pg_try_advisory_xact_lock({}, {INDEX})", self.class)
    }

    fn lock(&self, number: u32, shared: bool) -> String {
        let shared = if shared { "_shared" } else { "" };
        format!("pg_advisory_xact_lock{shared}({}, {number})", self.class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_quoted() {
        let names = Names::new("my \"memory\"@home").unwrap();
        assert_eq!(
            names.sql("SELECT pk FROM @turns"),
            "SELECT pk FROM \"my \"\"memory\"\"@home\".turns"
        );
        for name in ["", "a\0b", &"x".repeat(64)] {
            assert!(Names::new(name).is_err());
        }
    }
}

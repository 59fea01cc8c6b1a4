//! What somebody would write with sqlx who needs only this: no ids that may be taken, no retries, no
//! totals of sessions.

use std::time::{Duration, Instant};

use sqlx::{
    PgPool,
    postgres::{PgPoolCopyExt as _, PgPoolOptions},
};

/// memkeep's table of turns with its indexes, without what other rows refer to.
const TABLE: &str = r#"
    CREATE TABLE turns (
        pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        session bigint NOT NULL,
        position bigint NOT NULL,
        workspace bigint NOT NULL,
        created_at bigint NOT NULL,
        tokens bigint,
        role text COLLATE "C" NOT NULL,
        content text COLLATE "C" NOT NULL,
        metadata text COLLATE "C" NOT NULL,
        UNIQUE (session, position)
    );
    CREATE INDEX ON turns (workspace, pk);
    CREATE INDEX ON turns (session, position) WHERE role = 'user'"#;

/// A pool, and the table.
pub(crate) struct Hand(PgPool);

impl Hand {
    pub(crate) async fn open(url: &str, connections: u32) -> sqlx::Result<Self> {
        let pool = PgPoolOptions::new().max_connections(connections).connect(url).await?;
        sqlx::raw_sql(TABLE).execute(&pool).await?;
        Ok(Self(pool))
    }

    /// Inserts turns of a session, from a position on, by one statement.
    pub(crate) async fn insert(
        &self,
        session: i64,
        from: i64,
        texts: &[String],
    ) -> sqlx::Result<()> {
        let positions: Vec<i64> = (from..).take(texts.len()).collect();
        let ids: Vec<String> = positions.iter().map(|n| format!("hand-{session}-{n}")).collect();
        sqlx::query(
            "INSERT INTO turns (id, session, position, workspace, created_at, role, content, \
             metadata) SELECT id, $1, position, 1, 0, 'user', content, '{}' \
             FROM unnest($2::text[], $3::bigint[], $4::text[]) AS v(id, position, content)",
        )
        .bind(session)
        .bind(ids)
        .bind(positions)
        .bind(texts)
        .execute(&self.0)
        .await?;
        Ok(())
    }

    /// Copies rows into the empty table, by one COPY; returns how long it took.
    pub(crate) async fn copy_in(
        &self,
        rows: impl Iterator<Item = String>,
    ) -> sqlx::Result<Duration> {
        sqlx::raw_sql("TRUNCATE turns").execute(&self.0).await?;
        let started = Instant::now();
        let mut copy = self
            .0
            .copy_in_raw(
                "COPY turns (id, session, position, workspace, created_at, role, content, metadata) \
                 FROM STDIN",
            )
            .await?;
        let mut buffer = Vec::new();
        for row in rows {
            buffer.extend(row.into_bytes());
            if buffer.len() > 1 << 20 {
                copy.send(std::mem::take(&mut buffer)).await?;
            }
        }
        copy.send(buffer).await?;
        copy.finish().await?;
        Ok(started.elapsed())
    }
}

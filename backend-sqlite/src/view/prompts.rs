use memkeep_core::{Error, FIRST_PROMPT_CHARS, Result, Session, first_prompt};
use rusqlite::{Connection, MAIN_DB, blob::Blob};

use crate::{error::failed, rows::Prompted};

/// The first prompts of sessions. A prompt's beginning is read as a part of a blob, since SQL would
/// read all of it, which may be 64 MiB.
pub(super) struct Prompts<'c> {
    connection: &'c Connection,
    content: Option<Blob<'c>>,
}

impl<'c> Prompts<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection, content: None }
    }

    /// The session with its first prompt.
    pub(super) fn complete(&mut self, row: Prompted) -> Result<Session> {
        let mut session = row.session;
        session.first_prompt = row.prompt.map(|turn| self.beginning(turn)).transpose()?;
        Ok(session)
    }

    fn beginning(&mut self, turn: i64) -> Result<String> {
        let content = match &mut self.content {
            Some(content) => {
                content.reopen(turn).map_err(failed)?;
                content
            }
            none => {
                let opened = self.connection.blob_open(MAIN_DB, "turns", "content", turn, true);
                none.insert(opened.map_err(failed)?)
            }
        };
        let mut bytes = [0; FIRST_PROMPT_CHARS * 4];
        let read = content.read_at(&mut bytes, 0).map_err(failed)?;
        let text = match str::from_utf8(&bytes[..read]) {
            Ok(text) => text,
            // The last character may be cut in two.
            Err(e) if e.error_len().is_none() && content.len() > read => {
                str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => {
                let row = format_args!("pk {turn}");
                return Err(Error::corrupt("turns", row, "content: the text is not UTF-8"));
            }
        };
        Ok(first_prompt(text).to_owned())
    }
}

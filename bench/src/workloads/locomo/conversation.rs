use std::{collections::HashSet, fs, path::Path};

use anyhow::{Context as _, Result};
use jiff::{civil::DateTime, tz::TimeZone};
use memkeep::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A conversation of LoCoMo.
pub(super) struct Conversation {
    /// The file's name.
    pub(super) name: String,
    pub(super) sessions: Vec<Session>,
    pub(super) questions: Vec<Question>,
}

pub(super) struct Session {
    pub(super) id: String,
    pub(super) started_at: Timestamp,
    pub(super) turns: Vec<Turn>,
}

pub(super) struct Turn {
    /// Unique in the conversation.
    pub(super) id: String,
    /// Whether the first of the two speaks.
    pub(super) first: bool,
    pub(super) text: String,
}

/// A question for which there is evidence.
pub(super) struct Question {
    pub(super) text: String,
    pub(super) category: u64,
    /// The turns that hold it.
    pub(super) evidence: HashSet<String>,
}

#[derive(Deserialize)]
struct File {
    speaker_a: String,
    qa: Vec<Asked>,
    #[serde(flatten)]
    sessions: Map<String, Value>,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
    category: u64,
    #[serde(default)]
    evidence: Vec<String>,
}

#[derive(Deserialize)]
struct Said {
    speaker: String,
    dia_id: String,
    text: String,
    blip_caption: Option<String>,
}

impl Conversation {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let read = || -> Result<Self> {
            let file: File = serde_json::from_slice(&fs::read(path)?)?;
            let sessions = sessions(&file)?;
            let turns: HashSet<&str> =
                sessions.iter().flat_map(|session| &session.turns).map(|turn| &*turn.id).collect();
            let questions = file.qa.into_iter().map(|asked| question(asked, &turns));
            let questions = questions.filter(|question| !question.evidence.is_empty()).collect();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Self { name, sessions, questions })
        };
        read().with_context(|| path.display().to_string())
    }
}

fn sessions(file: &File) -> Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for n in 1..=file.sessions.len() {
        let id = format!("session_{n}");
        // There are times of sessions that are not there.
        let Some(said) = file.sessions.get(&id) else { continue };
        let said: Vec<Said> = serde_json::from_value(said.clone())?;
        let at = file.sessions.get(&format!("{id}_date_time")).and_then(Value::as_str);
        let started_at = time(at.context("a session without a time")?)?;
        let turn = |Said { speaker, dia_id, text, blip_caption }| Turn {
            id: dia_id,
            first: speaker == file.speaker_a,
            text: match blip_caption {
                Some(caption) => format!("{speaker}: {text} {caption}"),
                None => format!("{speaker}: {text}"),
            },
        };
        sessions.push(Session { id, started_at, turns: said.into_iter().map(turn).collect() });
    }
    Ok(sessions)
}

/// Some items of evidence name several turns, and some name none that there is.
fn question(asked: Asked, turns: &HashSet<&str>) -> Question {
    let evidence = asked.evidence.iter().flat_map(|item| item.split([' ', ';', ',']));
    let evidence = evidence.filter(|id| turns.contains(id)).map(str::to_owned).collect();
    Question { text: asked.question, category: asked.category, evidence }
}

/// `1:56 pm on 8 May, 2023`.
fn time(text: &str) -> Result<Timestamp> {
    let at = DateTime::strptime("%I:%M %p on %d %B, %Y", text)?;
    Timestamp::from_micros(TimeZone::UTC.to_timestamp(at)?.as_microsecond())
        .context("a time out of bounds")
}

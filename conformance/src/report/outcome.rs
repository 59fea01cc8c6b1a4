use serde::Serialize;

/// What one clause came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "why", rename_all = "snake_case")]
pub enum Outcome {
    /// It ran, and the rule was kept.
    Passed,
    /// It ran, and the rule was broken; the whole text of the failure.
    Failed(String),
    /// It could not run; why.
    Gap(String),
}

impl Outcome {
    /// The outcome in one word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Gap(_) => "gap",
        }
    }
}

use std::{borrow::Borrow, fmt};

use serde::{Deserialize, Serialize};

/// What a record belongs to: a project, a tenant, an agent. An opaque string, compared exactly,
/// of at most 1 KiB; it may be empty. [`Workspace::default`] is `default`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Workspace(String);

impl Workspace {
    /// The workspace `name`, as it is.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The workspace of a folder, from its path as text: `\` becomes `/`, and doubled and trailing
    /// slashes, `.` and `..` are resolved. No file system is asked, so links stay as they are.
    ///
    /// ```
    /// # use memkeep_core::Workspace;
    /// assert_eq!(Workspace::from_path("/home/ana/./proj//x/../alpha/").as_str(), "/home/ana/proj/alpha");
    /// ```
    pub fn from_path(path: &str) -> Self {
        let path = path.replace('\\', "/");
        let absolute = path.starts_with('/');
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/') {
            match (part, parts.last()) {
                ("" | ".", _) => {}
                ("..", Some(&last)) if last != ".." => {
                    parts.pop();
                }
                ("..", None) if absolute => {}
                _ => parts.push(part),
            }
        }
        let joined = parts.join("/");
        Self(match (absolute, joined.is_empty()) {
            (true, _) => format!("/{joined}"),
            (false, true) => ".".to_owned(),
            (false, false) => joined,
        })
    }

    /// The workspace as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl fmt::Display for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Borrow<str> for Workspace {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Workspace {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl From<String> for Workspace {
    fn from(name: String) -> Self {
        Self(name)
    }
}

impl From<&Workspace> for Workspace {
    fn from(workspace: &Workspace) -> Self {
        workspace.clone()
    }
}

/// What a read sees: everything, or one workspace. A record of another workspace is not found.
///
/// - By id: `SCOPE-SESSION-01`, `SCOPE-EPISODE-01`, `SCOPE-NOTE-01`, `SCOPE-STATE-01`.
/// - In lists: `SCOPE-SESSION-02`, `SCOPE-EPISODE-02`, `SCOPE-AUDIT-01`.
/// - In recall and find: `SCOPE-SESSION-03`, `SCOPE-EPISODE-03`, `SCOPE-NOTE-02`.
/// - In stats, workspaces and scans: `SCOPE-COUNT-01`, `SCOPE-COUNT-02`, `SCOPE-COUNT-03`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All workspaces.
    #[default]
    All,
    /// This workspace only.
    Workspace(Workspace),
}

impl Scope {
    /// Whether a record of `workspace` is seen.
    pub fn includes(&self, workspace: &Workspace) -> bool {
        self.workspace().is_none_or(|w| w == workspace)
    }

    /// The one workspace that is seen, if it is one.
    pub fn workspace(&self) -> Option<&Workspace> {
        match self {
            Self::All => None,
            Self::Workspace(workspace) => Some(workspace),
        }
    }
}

impl From<Option<Workspace>> for Scope {
    fn from(workspace: Option<Workspace>) -> Self {
        workspace.map_or(Self::All, Self::Workspace)
    }
}

impl From<Workspace> for Scope {
    fn from(workspace: Workspace) -> Self {
        Self::Workspace(workspace)
    }
}

impl From<&Workspace> for Scope {
    fn from(workspace: &Workspace) -> Self {
        Self::Workspace(workspace.clone())
    }
}

impl From<&str> for Scope {
    fn from(workspace: &str) -> Self {
        Self::Workspace(workspace.into())
    }
}

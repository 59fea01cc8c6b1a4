use std::path::Path;

use memkeep_core::{Error, ErrorKind, Result};

/// Where one store of a test lives: a folder of its own, and a name that no other has.
///
/// A backend with files uses the folder; one on a server uses the name (for a database or a schema)
/// and clears up in [`Factory::destroy`](crate::Factory::destroy).
#[derive(Debug)]
pub struct Place {
    folder: Folder,
    name: String,
}

#[derive(Debug)]
enum Folder {
    Own(tempfile::TempDir),
    /// That of the process which started this one.
    Parents(std::path::PathBuf),
}

impl Place {
    /// A place of its own, as a clause has it.
    pub fn new() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("memkeep-")
            .tempdir()
            .map_err(|e| Error::new(ErrorKind::Unexpected, "no folder for a test").caused_by(e))?;
        let name = name_of(folder.path());
        Ok(Self { folder: Folder::Own(folder), name })
    }

    /// The place that another process made.
    pub(crate) fn of_parent(path: &Path, name: String) -> Self {
        Self { name, folder: Folder::Parents(path.to_owned()) }
    }

    /// A folder that is empty when the first handle is opened, and removed after the test.
    pub fn path(&self) -> &Path {
        match &self.folder {
            Folder::Own(folder) => folder.path(),
            Folder::Parents(path) => path,
        }
    }

    /// A name of lower-case letters, digits and `_`, at most 63 characters long, starting with a letter.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The folder's own name is unique on this machine as long as the folder is there.
fn name_of(folder: &Path) -> String {
    let last = folder.file_name().unwrap_or_default().to_string_lossy();
    let process = std::process::id();
    let mut name = format!("memkeep_{process}_");
    // Case does not tell names apart in every database: letters become their code points.
    for c in last.chars().skip("memkeep-".len()) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            name.push(c);
        } else {
            let code = format!("_{:x}", u32::from(c));
            name.push_str(&code);
        }
    }
    name.truncate(63);
    name
}

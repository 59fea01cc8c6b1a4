//! Any bytes for an export in JSON lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use memkeep_fuzz::{Folder, check_import, run};

thread_local! {
    static FOLDER: Folder = Folder::new();
}

fuzz_target!(|input: &[u8]| {
    // Bytes of a database have a target of their own.
    if !input.starts_with(b"SQLite") {
        FOLDER.with(|folder| run(check_import(&folder.write(input), None)));
    }
});

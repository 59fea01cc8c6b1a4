//! Any bytes for a database of MuseEngine or velune.

#![no_main]

use libfuzzer_sys::fuzz_target;
use memkeep_fuzz::{Folder, check_import, run};

thread_local! {
    static FOLDER: Folder = Folder::new();
}

fuzz_target!(|input: &[u8]| {
    FOLDER.with(|folder| run(check_import(&folder.write(input), None)));
});

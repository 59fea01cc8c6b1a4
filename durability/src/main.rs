//! Cuts the power of stores, and makes their calls fail, many times.

use std::process::ExitCode;

#[cfg(can_watch)]
mod command;

#[cfg(can_watch)]
fn main() -> ExitCode {
    command::run()
}

#[cfg(not(can_watch))]
fn main() -> ExitCode {
    eprintln!("calls to files are watched on Linux with the GNU C library only, in 64 bits");
    ExitCode::FAILURE
}

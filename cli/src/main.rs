//! The `memkeep` command.

fn main() {}

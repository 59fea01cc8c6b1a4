use std::{
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Stdio},
};

use crate::server::as_server_user;

/// A shell that starts something, and stops it when this value or its whole process is gone.
pub(crate) struct Watchdog(Child);

impl Watchdog {
    /// Runs `start`, and `stop` at the end; `$1` is the first of `arguments`. `start` says `ready` when
    /// all is there.
    ///
    /// # Panics
    /// If it says something else.
    pub(crate) fn start(start: &str, stop: &str, arguments: &[&Path]) -> Self {
        // The input ends with whoever holds its other end, however that comes about.
        let script =
            format!("trap '' INT TERM; cd /; {start}; exec >/dev/null 2>&1; read -r line; {stop}");
        let child = as_server_user(Path::new("sh"))
            .args(["-c", &script, "watchdog"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut watchdog = Self(child.expect("a shell"));
        let mut said = Vec::new();
        for line in BufReader::new(watchdog.0.stdout.take().expect("its output")).lines() {
            let line = line.expect("what it says");
            if line == "ready" {
                return watchdog;
            }
            said.push(line);
        }
        drop(watchdog);
        panic!("it does not start:\n{}", said.join("\n"));
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It was waited for as long as it lasts.
        let _ = self.0.wait();
    }
}

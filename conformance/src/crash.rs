//! Killing a process that writes, and looking at what it left.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crate::{
    Failure,
    child::{ACKNOWLEDGED, END, FAILED, FIRST, FOLDER, NAME},
    clauses::random::Random,
    factory::Site,
};

/// A run counts only if so many batches were acknowledged before the kill.
pub(crate) const MINIMUM: usize = 5;
/// How many more are waited for at most.
const MORE: usize = 40;
/// After the last of them, the kill comes within this time.
const MICROS: usize = 4_000;
/// A child that acknowledges nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A child that is killed when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a child that commits batches from the number `first` on to the store of a place, kills it
/// at a random moment, and returns the numbers of the batches that it was told are committed.
pub(crate) fn kill_a_writer(
    site: &Site,
    place: (&std::path::Path, &str),
    first: u64,
    random: &mut Random,
) -> Result<Vec<u64>, Failure> {
    let failed = |e: std::io::Error| Failure::new("a child process", e.to_string());
    let binary = site.binary.as_ref().ok_or_else(|| {
        Failure::new("the clause is run by the test that the macro wrote", "it is not")
    })?;
    let child = Command::new(binary)
        .args([&site.child, "--exact", "--nocapture"])
        .env(FOLDER, place.0)
        .env(NAME, place.1)
        .env(FIRST, first.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Running(child.map_err(failed)?);
    let output = child.0.stdout.take().ok_or_else(|| Failure::new("the child's output", "none"))?;
    let (send, lines) = mpsc::channel();
    // The reader ends with the child.
    let reader = thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let _ = send.send(line);
        }
    });
    let mut acknowledged = Vec::new();
    let wanted = MINIMUM + random.below(MORE);
    while acknowledged.len() < wanted {
        let line = lines.recv_timeout(PATIENCE).map_err(|_| {
            let actual = format!("{} batches, then nothing", acknowledged.len());
            Failure::new(format!("the child commits {wanted} batches"), actual)
        })?;
        note(&line, &mut acknowledged)?;
    }
    let kill = Instant::now() + Duration::from_micros(random.below(MICROS) as u64);
    while let Ok(line) = lines.recv_timeout(kill.saturating_duration_since(Instant::now())) {
        note(&line, &mut acknowledged)?;
    }
    drop(child);
    // What it had said before it was killed counts.
    for line in lines {
        note(&line, &mut acknowledged)?;
    }
    let _ = reader.join();
    Ok(acknowledged)
}

fn note(line: &str, acknowledged: &mut Vec<u64>) -> Result<(), Failure> {
    if let Some(why) = line.strip_prefix(FAILED) {
        return Err(Failure::new("the child commits until it is killed", why));
    }
    // The test runner of the child says things of its own, in front of the first line too.
    let number = line.find(ACKNOWLEDGED).map(|at| &line[at + ACKNOWLEDGED.len()..]);
    let number = number.and_then(|rest| rest.strip_suffix(END)?.parse::<u64>().ok());
    acknowledged.extend(number);
    Ok(())
}

//! A peer that cannot be linked with the others, because it brings another version of SQLite, is a
//! program that stores records and prints how long it took: one line of JSON.

use std::{path::PathBuf, time::Instant};

use anyhow::Result;
use clap::Parser;
use serde::{Deserialize, Serialize};

use crate::Corpus;

/// What is stored: one document of the corpus a record, one record a call.
#[derive(Clone, Debug, Parser)]
pub struct Job {
    /// An empty folder for the peer's files.
    pub folder: PathBuf,
    /// How many records.
    #[arg(long)]
    pub records: usize,
    /// How many tasks store them at once.
    #[arg(long)]
    pub writers: usize,
    /// The corpus.
    #[arg(long)]
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Done {
    /// Records that the peer has afterwards, by its own count.
    pub stored: usize,
    /// From the first call to the last answer, in seconds.
    pub seconds: f64,
}

impl Job {
    /// The texts of each writer.
    pub fn shares(&self) -> Vec<Vec<String>> {
        let corpus = Corpus::new(self.seed);
        let mut shares = vec![Vec::new(); self.writers];
        for n in 0..self.records {
            shares[n % self.writers].push(corpus.document(n));
        }
        shares
    }

    /// Times `work`, which returns how many records there are afterwards, and prints the outcome.
    pub fn run(&self, work: impl FnOnce(Vec<Vec<String>>) -> Result<usize>) -> Result<()> {
        let shares = self.shares();
        let started = Instant::now();
        let stored = work(shares)?;
        let done = Done { stored, seconds: started.elapsed().as_secs_f64() };
        println!("{}", serde_json::to_string(&done)?);
        Ok(())
    }
}

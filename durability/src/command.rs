//! The command: power cuts and failing calls, as many as wanted.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand, ValueEnum};
use memkeep_durability::{
    Subject,
    disk::{Image, Loss, Recorder},
    faults::{self, Fault},
    power::Recording,
    workload::Workload,
};

#[derive(Parser)]
#[command(about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Records a workload, and cuts the power at its places.
    Power(Power),
    /// Makes each call of a workload to its files fail once.
    Faults(Faults),
}

#[derive(clap::Args)]
struct Power {
    /// The backend.
    #[arg(long)]
    backend: Backend,
    /// How many power cuts.
    #[arg(long, default_value_t = 10_000)]
    points: u64,
    /// What lots are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only the power cut of this number.
    #[arg(long)]
    point: Option<u64>,
    /// Only this loss.
    #[arg(long)]
    loss: Option<Loss>,
    /// A recording that an earlier run left, instead of a new one.
    #[arg(long)]
    recording: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Faults {
    /// The backend.
    #[arg(long)]
    backend: Backend,
    /// Only the call of this number.
    #[arg(long)]
    call: Option<usize>,
    /// Only one call in so many.
    #[arg(long, default_value_t = 1)]
    every: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Backend {
    /// SQLite, whose commits survive a power cut.
    Sqlite,
    /// SQLite with `synchronous=normal`, whose last commits a power cut may take away.
    SqliteNormal,
    /// redb, whose commits survive a power cut.
    Redb,
    /// redb with `durability=none`, of which a power cut may take away all since it was opened.
    RedbNone,
}

impl Backend {
    fn subject(self) -> Subject {
        match self {
            Self::Sqlite => Subject::sqlite(),
            Self::SqliteNormal => Subject::sqlite_normal(),
            Self::Redb => Subject::redb(),
            Self::RedbNone => Subject::redb_none(),
        }
    }
}

pub(crate) fn run() -> ExitCode {
    let clean = match Arguments::parse().command {
        Command::Power(power) => power.run(),
        Command::Faults(faults) => faults.run(),
    };
    match clean {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

impl Power {
    /// Whether nothing was found.
    fn run(&self) -> Result<bool, String> {
        let subject = self.backend.subject();
        let runtime = tokio::runtime::Runtime::new().map_err(|e| e.to_string())?;
        let recording = runtime.block_on(async {
            let Some(path) = &self.recording else {
                let recorder = Recorder::new(Image::default());
                return Recording::of(&subject, &Workload::full(), recorder).await;
            };
            let bytes = fs::read(path).map_err(|e| e.to_string())?;
            let recording: Recording = postcard::from_bytes(&bytes).map_err(|e| e.to_string())?;
            recording.restored().await
        })?;
        println!(
            "{}: {} batches; power can be cut at {} places",
            subject.name,
            recording.batches(),
            recording.places()
        );
        let numbers = self.point.map_or(0..self.points, |number| number..number + 1);
        let points = recording.points(self.seed, numbers, self.loss);
        let report = recording.run(&subject, &points);
        print!("{report}");
        if !report.failures.is_empty() && self.recording.is_none() {
            let name = subject.name;
            let path = std::env::temp_dir().join(format!("{name}.recording"));
            let bytes = postcard::to_stdvec(&recording).map_err(|e| e.to_string())?;
            fs::write(&path, bytes).map_err(|e| e.to_string())?;
            let (seed, path) = (self.seed, path.display());
            println!(
                "one again: power --backend {name} --seed {seed} --recording {path} --point N"
            );
        }
        Ok(report.failures.is_empty())
    }
}

impl Faults {
    /// Whether nothing was found.
    fn run(&self) -> Result<bool, String> {
        let (subject, workload) = (self.backend.subject(), Workload::short());
        let runtime = tokio::runtime::Runtime::new().map_err(|e| e.to_string())?;
        let calls = runtime.block_on(faults::calls(&subject, &workload))?;
        println!("{}: {} calls to files", subject.name, calls.len());
        let mut faults = Fault::all(&calls, self.every);
        faults.retain(|fault| self.call.is_none_or(|only| only == fault.number));
        let report = faults::run(&subject, &workload, &faults);
        print!("{report}");
        Ok(report.failures.is_empty())
    }
}

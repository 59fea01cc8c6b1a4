use std::{
    env,
    error::Error as _,
    io::{self, Write},
    process::ExitCode,
};

use anstyle::{AnsiColor, Style};
use memkeep::{Error, ErrorKind};
use serde_json::{Map, Value, json};

use crate::output::escape;

/// Why a command did not end with 0.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something failed that has to be said; an `InvalidArgument` is one of the words.
    Error(Error),
    /// What was read, from stdin or a file, cannot be used: the words were right.
    Input(Error),
    /// What is wrong has been printed as the command's answer.
    Printed,
    /// Nobody reads the output any more. That is no failure: `memkeep turns ID | head -1`.
    Unread,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::Unread;
        }
        Self::Error(Error::new(kind(&error), "input or output failed").caused_by(error))
    }
}

/// What an error of the system is to memkeep.
pub(crate) fn kind(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::StorageFull => ErrorKind::StorageFull,
        io::ErrorKind::ReadOnlyFilesystem => ErrorKind::ReadOnly,
        _ => ErrorKind::Unexpected,
    }
}

/// The failure of a call that writes output: a pipe that was closed is none.
pub(crate) fn of_output(error: Error) -> Failure {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    if cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe) {
        return Failure::Unread;
    }
    error.into()
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}

impl Failure {
    /// Says it on stderr; returns the exit status.
    pub(crate) fn report(self, json: bool) -> ExitCode {
        let (error, of_words) = match self {
            Self::Error(error) => {
                let of_words = error.kind() == ErrorKind::InvalidArgument;
                (error, of_words)
            }
            Self::Input(error) => (error, false),
            Self::Printed => return ExitCode::from(1),
            Self::Unread => return ExitCode::SUCCESS,
        };
        if json {
            print_json(&error);
        } else {
            print_text(error.kind(), &text(&error));
        }
        ExitCode::from(if of_words { 2 } else { 1 })
    }
}

/// The error with its causes, which often say what the system said.
fn text(error: &Error) -> String {
    let mut text = error.to_string();
    for cause in causes(error) {
        text.push_str("\n  caused by: ");
        text.push_str(&cause);
    }
    text
}

fn causes(error: &Error) -> Vec<String> {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    causes
}

/// Nothing can be done if stderr cannot be written: the exit status still tells.
fn print_text(kind: ErrorKind, text: &str) {
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let text = escape::text(text);
    let _ = writeln!(anstream::stderr(), "{red}error[{kind}]{red:#}: {}", text.trim_end());
}

fn print_json(error: &Error) {
    let mut context: Map<String, Value> =
        error.context().iter().map(|(name, value)| ((*name).into(), json!(value))).collect();
    if let Some(operation) = error.operation() {
        context.insert("operation".into(), json!(operation));
    }
    let causes = causes(error);
    if !causes.is_empty() {
        context.insert("causes".into(), json!(causes));
    }
    print_object(error.kind(), error.message(), &context);
}

fn print_object(kind: ErrorKind, message: &str, context: &Map<String, Value>) {
    let object = json!({"kind": kind.as_str(), "message": message, "context": context});
    let _ = writeln!(io::stderr(), "{object}");
}

/// Says on stderr which words were wrong, or on stdout what was asked for with `--help` or
/// `--version`; returns the exit status.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let rendered = error.render().to_string();
    if !error.use_stderr() {
        let shown = error.print();
        return shown.map_or_else(|e| Failure::from(e).report(false), |()| ExitCode::SUCCESS);
    }
    let message = rendered.strip_prefix("error: ");
    if asks_for_json() {
        let message = message.unwrap_or("a command is missing").trim_end();
        print_object(ErrorKind::InvalidArgument, message, &Map::new());
    } else if let Some(message) = message {
        print_text(ErrorKind::InvalidArgument, message);
    } else {
        // Who says no command at all is shown which there are.
        let _ = error.print();
    }
    ExitCode::from(2)
}

/// The words could not be parsed, so they are only searched.
fn asks_for_json() -> bool {
    env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

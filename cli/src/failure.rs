use std::{
    env,
    error::Error as _,
    io::{self, Write},
    process::ExitCode,
};

use anstyle::{AnsiColor, Style};
use clap::error::ContextValue;
use memkeep::{Error, ErrorKind};
use serde_json::{Map, Value, json};

use crate::{files, output::escape};

/// Why a command did not end with 0.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something failed that has to be said; an `InvalidArgument` is one of the words.
    Error(Error),
    /// What was read, from stdin or a file, cannot be used: the words were right.
    Input(Error),
    /// The answer cannot be written.
    Output(Error),
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

/// Of the answer: what else is read and written says which file it is.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::Unread;
        }
        let kind = files::kind(&error);
        Self::Output(Error::new(kind, "the answer cannot be written").caused_by(error))
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

/// The same error in other words, and of the file `path` if one is given.
pub(crate) fn retold(error: &Error, message: impl Into<String>, path: Option<&str>) -> Error {
    let mut told = Error::new(error.kind(), message);
    for (name, value) in error.context() {
        told = told.with(name, path.filter(|_| *name == "path").unwrap_or(value));
    }
    if let Some(operation) = error.operation() {
        told = told.during(operation);
    }
    match causes(error).into_iter().next() {
        Some(cause) => told.caused_by(io::Error::other(cause)),
        None => told,
    }
}

impl Failure {
    /// Adds to an answer that cannot be written what was done all the same.
    pub(crate) fn after(self, done: Option<&'static str>) -> Self {
        match (self, done) {
            (Self::Output(error), Some(done)) => {
                let message = format!("{done}, but {}", error.message());
                Self::Output(retold(&error, message, None))
            }
            (failure, _) => failure,
        }
    }

    /// Says it on stderr; returns the exit status.
    pub(crate) fn report(self, json: bool) -> ExitCode {
        let (error, of_words) = match self {
            Self::Error(error) => {
                let of_words = error.kind() == ErrorKind::InvalidArgument;
                (error, of_words)
            }
            Self::Input(error) | Self::Output(error) => (error, false),
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

/// The error with its nearest cause, which often is what the system said.
fn text(error: &Error) -> String {
    let mut text = String::new();
    if let Some(operation) = error.operation() {
        text = format!("{operation}: ");
    }
    text.push_str(&escape::shorten(error.message()));
    let context: Vec<String> = error
        .context()
        .iter()
        .map(|(name, value)| {
            let value = escape::hide_login(value).escape_debug().to_string();
            let limit = if *name == "path" { usize::MAX } else { escape::VALUE };
            format!("{name}: {}", escape::clip(&value, limit))
        })
        .collect();
    if !context.is_empty() {
        text.extend([" (", &context.join(", "), ")"]);
    }
    if let Some(cause) = causes(error).first() {
        text.push_str("\n  caused by: ");
        text.push_str(cause);
    }
    text
}

/// What stands behind an error and says something that it does not say itself.
fn causes(error: &Error) -> Vec<String> {
    let mut said = vec![error.message().to_owned()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = escape::shorten(&cause.to_string());
        let repeats = |earlier: &String| {
            let mut words = text.split_whitespace().filter(|word| !["a", "an"].contains(word));
            words.all(|word| earlier.contains(word))
        };
        // What stands behind a repetition only repeats it with the codes of a library.
        if said.iter().any(repeats) {
            break;
        }
        said.push(text);
        next = cause.source();
    }
    said.split_off(1)
}

/// Nothing can be done if stderr cannot be written: the exit status still tells.
fn print_text(kind: ErrorKind, text: &str) {
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let text = escape::text(text);
    let _ = writeln!(anstream::stderr(), "{red}error[{kind}]{red:#}: {}", text.trim_end());
}

fn print_json(error: &Error) {
    let shown = |value: &str| json!(escape::hide_login(value));
    let mut context: Map<String, Value> =
        error.context().iter().map(|(name, value)| ((*name).into(), shown(value))).collect();
    if let Some(operation) = error.operation() {
        context.insert("operation".into(), json!(operation));
    }
    let causes = causes(error);
    if !causes.is_empty() {
        context.insert("causes".into(), json!(causes));
    }
    print_object(error.kind(), &escape::shorten(error.message()), &context);
}

fn print_object(kind: ErrorKind, message: &str, context: &Map<String, Value>) {
    let object = json!({"kind": kind.as_str(), "message": message, "context": context}).to_string();
    let _ = writeln!(io::stderr(), "{}", escape::json(&object));
}

/// Says on stderr which words were wrong, or on stdout what was asked for with `--help` or
/// `--version`; returns the exit status.
pub(crate) fn usage(mut error: clap::Error) -> ExitCode {
    let changed: Vec<_> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(value) => {
                let shown = escape::clip(&escape::hide_login(value), escape::VALUE).into_owned();
                (shown != *value).then_some((kind, shown))
            }
            _ => None,
        })
        .collect();
    for (kind, shown) in changed {
        error.insert(kind, ContextValue::String(shown));
    }
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

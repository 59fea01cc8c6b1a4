//! Verification over one state of the store.

use super::{View, Writer, indexer::Indexer};
use crate::{
    Error, ErrorKind, RecordKind, Result, Scope,
    decide::{Change, Needs, Put},
    recall::{
        Language,
        index::{Coverage, RECALLED, difference, documents, missing},
    },
    search::listed,
    verify::{Problem, Verifier, VerifyReport},
};

/// Looks at everything.
pub(super) fn check(view: &mut dyn View, language: Language) -> Result<Verifier> {
    let mut verifier = Verifier::default();
    for problem in view.integrity()? {
        verifier.problem(problem);
    }
    for kind in RecordKind::ALL {
        let mut count = 0;
        view.each(kind, &Scope::All, &mut |record| {
            count += 1;
            match record {
                Ok(record) => verifier.record(record),
                Err(error) => verifier.unreadable(kind, &error),
            }
            Ok(())
        })?;
        if RECALLED.contains(&kind) {
            for problem in check_index(view, kind, count, language)? {
                verifier.problem(problem);
            }
        }
    }
    Ok(verifier)
}

/// Compares the recall index of a kind with the `count` records that there are.
fn check_index(
    view: &dyn View,
    kind: RecordKind,
    count: usize,
    language: Language,
) -> Result<Vec<Problem>> {
    let Some(blobs) = view.index(kind) else { return Ok(Vec::new()) };
    let read = || -> Result<_> {
        let coverage = Coverage::get(&*blobs, language)?;
        let is_whole = coverage.last >= view.last_number(kind)?;
        Ok((is_whole, documents(&*blobs)?))
    };
    let (is_whole, documents) = match read() {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            return Ok(vec![Problem::unreadable(&error)]);
        }
        read => read?,
    };
    let (mut problems, mut found) = (Vec::new(), 0);
    for (number, indexed) in &documents {
        let record = match view.numbered(kind, *number) {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                found += 1;
                continue;
            }
            record => record?,
        };
        let record = record.as_ref().and_then(listed);
        found += usize::from(record.is_some());
        problems.extend(difference(kind, *number, record.as_ref(), indexed));
    }
    if is_whole {
        problems.extend(missing(kind, count.saturating_sub(found)));
    }
    Ok(problems)
}

/// Looks and repairs in one write transaction, so that nobody changes anything in between; then
/// looks again.
pub(super) fn repair<W: Writer>(writer: &mut W, indexer: &mut Indexer) -> Result<VerifyReport> {
    writer.begin()?;
    let repaired = repair_here(writer, indexer).and_then(|report| {
        writer.commit()?;
        Ok(report)
    });
    if repaired.is_err() {
        writer.rollback();
    }
    repaired
}

/// Refuses, as `Corrupt`, what would be done over a damaged file.
pub(super) fn refuse_damaged(writer: &mut impl Writer) -> Result<()> {
    writer.begin()?;
    let damaged = writer.inspect();
    writer.rollback();
    match damaged?.first() {
        Some(problem) => Err(Error::new(ErrorKind::Corrupt, problem.message.as_str())
            .with("location", &problem.location)),
        None => Ok(()),
    }
}

fn repair_here<W: Writer>(writer: &mut W, indexer: &mut Indexer) -> Result<VerifyReport> {
    let damaged = writer.inspect()?;
    if damaged.is_empty() {
        return repair_rows(writer, indexer);
    }
    // What is made to agree with what is left would hide that more has been there.
    let mut report = check(writer.view(), indexer.language())?.finish().0;
    report.problems.splice(0..0, damaged);
    Ok(report)
}

fn repair_rows<W: Writer>(writer: &mut W, indexer: &mut Indexer) -> Result<VerifyReport> {
    let broken = writer.view().integrity()?;
    if !broken.is_empty() {
        writer.rebuild()?;
    }
    let (mut report, sessions) = check(writer.view(), indexer.language())?.finish();
    // What was found before the rebuild comes first; what is still so is told once.
    report.problems.retain(|problem| !broken.contains(problem));
    report.problems.splice(0..0, broken);
    if report.problems.is_empty() {
        return Ok(report);
    }
    // Whatever an index was made of, it is made anew of what there is.
    indexer.drop_all(writer)?;
    let needs = Needs {
        sessions: sessions.iter().map(|session| session.id.clone()).collect(),
        ..Needs::default()
    };
    let mut loaded = writer.load(&needs)?.sessions;
    let puts = sessions.into_iter().filter_map(|session| {
        let mut row = loaded.remove(&session.id)?;
        row.record = session;
        Some(Change::PutSession(Put { row, new: false }))
    });
    let changes: Vec<Change> = puts.collect();
    writer.apply(&changes)?;
    let left = check(writer.view(), indexer.language())?.finish().0.problems;
    for problem in &mut report.problems {
        problem.repaired = !left.contains(problem);
    }
    Ok(report)
}

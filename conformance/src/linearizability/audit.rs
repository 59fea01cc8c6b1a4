use async_trait::async_trait;
use memkeep_core::{AuditHead, AuditRecord, Error, ErrorKind, Hash, ListAudit, NewAudit, Result};

use super::object::Object;
use crate::{Handle, clauses::random::Random};

/// The audit chain of one workspace.
pub(crate) struct AuditChain;

#[derive(Clone, Debug)]
pub(crate) enum Call {
    Append(u64),
    Head,
    Log,
}

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Appended(AuditRecord),
    Head(AuditHead),
    Log(Vec<Hash>),
}

#[async_trait]
impl Object for AuditChain {
    /// The hashes of the chain.
    type State = Vec<Hash>;
    type Call = Call;
    type Answer = Answer;

    fn start() -> Vec<Hash> {
        Vec::new()
    }

    fn step(state: &Vec<Hash>, call: &Call, answer: &Answer) -> Option<Vec<Hash>> {
        let seq = state.len() as u64;
        let last = state.last().copied().unwrap_or_default();
        let mut after = state.clone();
        let fits = match (call, answer) {
            (Call::Append(number), Answer::Appended(record)) => {
                after.push(record.hash);
                record.seq == seq + 1
                    && record.action == number.to_string()
                    && record.hash == record.expected_hash(&last)
            }
            (Call::Head, Answer::Head(head)) => head.seq == seq && head.hash == last,
            (Call::Log, Answer::Log(hashes)) => hashes == state,
            _ => false,
        };
        fits.then_some(after)
    }

    fn draw(random: &mut Random, number: u64, _: Option<&Answer>) -> Call {
        match random.below(10) {
            0..=5 => Call::Append(number),
            6..=8 => Call::Head,
            _ => Call::Log,
        }
    }

    async fn make(_: &Handle, _: &str) -> Result<()> {
        Ok(())
    }

    async fn call(handle: &Handle, name: &str, call: &Call) -> Result<Answer> {
        let lack = || Error::new(ErrorKind::Unsupported, "the handle has no ReflectiveStore");
        let store = handle.reflective.as_deref().ok_or_else(lack)?;
        Ok(match call {
            Call::Append(number) => {
                let audit = NewAudit::new(number.to_string(), "allow").workspace(name);
                Answer::Appended(store.append_audit(audit).await?)
            }
            Call::Head => Answer::Head(store.audit_head(&name.into()).await?),
            Call::Log => {
                let log = store.audit_log(&ListAudit::new().scope(name)).await?;
                Answer::Log(log.items.into_iter().map(|record| record.hash).collect())
            }
        })
    }
}

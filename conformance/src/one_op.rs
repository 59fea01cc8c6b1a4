use memkeep_core::{Op, Outcome, Result};

use crate::Handle;

/// Does an op by the call that the traits have for it alone; by `commit_one` where they have none.
pub(crate) async fn one_op(handle: &Handle, op: Op) -> Result<Outcome> {
    let Handle { backend, sessions, episodic, reflective } = handle;
    Ok(match (op, sessions, episodic, reflective) {
        (Op::StartSession(new), Some(store), ..) => {
            Outcome::Session(store.start_session(new).await?)
        }
        (Op::EnsureSession(new), Some(store), ..) => {
            Outcome::Session(store.ensure_session(new).await?)
        }
        (Op::EndSession { session, at: None }, Some(store), ..) => {
            Outcome::Session(store.end_session(&session).await?)
        }
        (Op::ResumeSession { session }, Some(store), ..) => {
            Outcome::Session(store.resume_session(&session).await?)
        }
        (Op::SetSummary { session, summary }, Some(store), ..) => {
            Outcome::Session(store.set_summary(&session, summary).await?)
        }
        (Op::DeleteSession { session, ended_before: None }, Some(store), ..) => {
            Outcome::Deleted(store.delete_session(&session).await?)
        }
        (Op::RecordTurn(new), Some(store), ..) => Outcome::Turn(store.record_turn(new).await?),
        (Op::RecordStep(new), Some(store), ..) => Outcome::Step(store.record_step(new).await?),
        (Op::DeleteTurn { turn }, Some(store), ..) => {
            Outcome::Deleted(store.delete_turn(&turn).await?)
        }
        (Op::TagTurn { turn, name, value }, Some(store), ..) => {
            Outcome::Turn(store.tag_turn(&turn, &name, value).await?)
        }
        (Op::UntagTurn { turn, name }, Some(store), ..) => {
            Outcome::Turn(store.untag_turn(&turn, &name).await?)
        }
        (Op::SetEmbedding { turn, embedding_id }, Some(store), ..) => {
            Outcome::Turn(store.set_embedding(&turn, embedding_id).await?)
        }
        (Op::AddEpisode(new), _, Some(store), _) => Outcome::Episode(store.add_episode(new).await?),
        (Op::ReviseEpisode(revision), _, Some(store), _) => {
            Outcome::Episode(store.revise_episode(revision).await?)
        }
        (Op::SetEpisodeOpen { episode, open }, _, Some(store), _) => {
            Outcome::Episode(store.set_episode_open(&episode, open).await?)
        }
        (Op::DeleteEpisode { episode, closed_before: None }, _, Some(store), _) => {
            Outcome::Deleted(store.delete_episode(&episode).await?)
        }
        (Op::AddNote(new), .., Some(store)) => Outcome::Note(store.add_note(new).await?),
        (Op::DeleteNote { note }, .., Some(store)) => {
            Outcome::Deleted(store.delete_note(&note).await?)
        }
        (Op::PutState(put), .., Some(store)) => Outcome::State(store.put_state(put).await?),
        (Op::DeleteState(delete), .., Some(store)) => {
            Outcome::Deleted(store.delete_state(delete).await?)
        }
        (Op::AppendAudit(new), .., Some(store)) => Outcome::Audit(store.append_audit(new).await?),
        (op, ..) => backend.commit_one(op).await?,
    })
}

//! The main job: an agent that remembers. `cargo run --example quickstart`

use memkeep::{
    ListNotes, ListSteps, NewEpisode, NewNote, NewSession, NewStep, NewTurn, PutState, RecallQuery,
    Result, Scope, Workspace,
};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir().map_err(|e| memkeep::Error::invalid("folder", e))?;
    let url = format!("sqlite:{}", folder.path().join("agent.db").display());

    // What was said and done.
    let store = memkeep::open(&url).await?;
    let session = store.start_session(NewSession::new().workspace("shop").model("a-model")).await?;
    let question = "Why does the nightly build fail with exit code 137?";
    store.record_turn(NewTurn::new(&session.id, "user", question)).await?;
    let step = NewStep::new(&session.id, "read_log", "success").payload(json!({"lines": 412}));
    store.record_step(step).await?;
    let answer = "The linker is killed for using too much memory.";
    store.record_turn(NewTurn::new(&session.id, "assistant", answer).tokens(11)).await?;
    store.end_session(&session.id).await?;

    // What came of it, and of other problems.
    let episode = NewEpisode::new("nightly build fails with exit code 137", answer);
    let killed = store.add_episode(episode.workspace("shop").open(false)).await?;
    let episode = NewEpisode::new("checkout page is slow", "an index on orders helps");
    store.add_episode(episode.workspace("shop")).await?;

    // A new problem: what is like it? And what is to be learned?
    let query = RecallQuery::new("the release build was killed with exit code 137").scope("shop");
    for hit in store.recall(&query).await? {
        println!("recalled {:.1}: {}", hit.score, hit.record.summary);
    }
    let note = NewNote::new("Exit code 137 means killed: look at memory first.");
    store.add_note(note.workspace("shop").sources(vec![killed.id])).await?;
    store.put_state(PutState::new("last_build", json!(2_117)).workspace("shop")).await?;
    store.close().await?;

    // The next run of the agent.
    let store = memkeep::open(&url).await?;
    let shop = Workspace::new("shop");
    let scope = Scope::from(&shop);
    for turn in store.last_turns(&scope, &session.id, 20).await? {
        println!("{} {}: {}", turn.index, turn.role, turn.content);
    }
    for step in store.steps(&ListSteps::new(&session.id)).await?.items {
        println!("step {}: {} {}", step.name, step.status, step.payload);
    }
    for note in store.notes(&ListNotes::new().scope(&shop)).await?.items {
        println!("note: {}", note.text);
    }
    let build = store.state(&shop, "last_build").await?;
    println!("state: {:?}", build.map(|entry| (entry.value, entry.version)));
    store.close().await
}

//! Every op and every read of the contract, through the public traits.

use memkeep_core::*;
use memkeep_inmem::InmemConfig;

#[tokio::test]
async fn quick() -> Result<()> {
    let m = InmemConfig::new().open().await?;
    let s = m.start_session(NewSession::new().workspace("acme")).await?;
    m.record_turn(NewTurn::new(&s.id, "user", "hello")).await?;
    m.record_turn(NewTurn::new(&s.id, "assistant", "hi")).await?;
    let s = m.session(&Scope::All, &s.id).await?.unwrap();
    assert_eq!(s.turn_count, 2);
    assert_eq!(s.first_prompt.as_deref(), Some("hello"));
    assert_eq!(m.sessions(&ListSessions::new()).await?.items, [s.clone()]);
    m.add_episode(NewEpisode::new("a", "b")).await?;
    m.put_state(PutState::new("k", 1)).await?;
    m.append_audit(NewAudit::new("a", "d")).await?;
    let report = m.verify(&verify::Verify::new()).await?;
    assert!(report.is_clean(), "{report:?}");
    m.delete_session(&s.id).await?;
    let report = m.verify(&verify::Verify::new()).await?;
    assert!(report.is_clean(), "{report:?}");
    m.close().await
}

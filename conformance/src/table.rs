//! The table of clauses. A row is the part, the need, the test's name, the id, the function and the
//! rule; ids are never used again for another rule.

#[doc(hidden)]
#[macro_export]
macro_rules! __memkeep_clauses {
    ($callback:path, $args:tt) => {
        $callback! {
            $args
            sessions fresh turn_order_01 "TURN-ORDER-01" turns::one_timestamp
                "Turns of one timestamp are in the order in which they were recorded.";
            sessions reopen turn_order_02 "TURN-ORDER-02" turns::clock_steps_back
                "Turns are in the order in which they were recorded when the clock steps back, also after reopening.";
            any fresh model_program_01 "MODEL-PROGRAM-01" programs::of_commits_and_reads
                "Any program of commits and reads, refused ones and retries included, gives the answers of the reference model.";
            any reopen model_program_02 "MODEL-PROGRAM-02" programs::with_reopening
                "Any program that also closes and reopens the store gives the answers of the reference model.";
            any second_handle model_program_03 "MODEL-PROGRAM-03" programs::through_two_handles
                "Any program that uses two handles in turn gives the answers of the reference model.";
            reflective fresh linear_state_01 "LINEAR-STATE-01" linear::state
                "Concurrent puts, deletions and reads of state happen one after the other.";
            reflective second_handle linear_state_02 "LINEAR-STATE-02" linear::state_of_two_handles
                "Concurrent puts, deletions and reads of state through two handles happen one after the other.";
            sessions fresh linear_index_01 "LINEAR-INDEX-01" linear::indexes
                "Concurrent records, deletions and reads of turns happen one after the other.";
            sessions second_handle linear_index_02 "LINEAR-INDEX-02" linear::indexes_of_two_handles
                "Concurrent records, deletions and reads of turns through two handles happen one after the other.";
            reflective fresh linear_audit_01 "LINEAR-AUDIT-01" linear::audit
                "Concurrent appends to and reads of an audit chain happen one after the other.";
            reflective second_handle linear_audit_02 "LINEAR-AUDIT-02" linear::audit_of_two_handles
                "Concurrent appends to and reads of an audit chain through two handles happen one after the other.";
            any kill crash_kill_01 "CRASH-KILL-01" kills::writers
                "When a writing process is killed, every acknowledged batch is there, none in part, and all agrees.";
            episodic fresh episode_add_01 "EPISODE-ADD-01" episodes::add
                "An episode has what the caller gives, and defaults for the rest: a new id, the workspace `default`, the clock's time, open.";
            episodic fresh episode_add_02 "EPISODE-ADD-02" episodes::add_again
                "An id whose episode was deleted can be added again, and nothing of the old episode comes back.";
            episodic fresh episode_revise_01 "EPISODE-REVISE-01" episodes::revise
                "A revision changes what it sets and nothing else.";
            episodic fresh episode_revise_02 "EPISODE-REVISE-02" episodes::revised_text_is_found
                "Recall finds a revised episode by its new words and not by its old ones.";
            episodic fresh episode_revise_03 "EPISODE-REVISE-03" episodes::unknown
                "Revising, opening or closing an unknown episode is NotFound.";
            episodic fresh episode_close_01 "EPISODE-CLOSE-01" episodes::close_and_open
                "Closing notes the time in closed_at and opening removes it; doing either again changes nothing.";
            episodic fresh episode_delete_01 "EPISODE-DELETE-01" episodes::delete
                "A deleted episode is in no read; deleting it again succeeds and says that it was not there.";
            episodic fresh episode_order_01 "EPISODE-ORDER-01" episodes::order
                "Episodes are listed by created_at, then insertion.";
            episodic fresh episode_order_02 "EPISODE-ORDER-02" episodes::changes_move_nothing
                "Revising, closing or opening an episode leaves it in its place.";
            episodic fresh episode_open_01 "EPISODE-OPEN-01" episodes::filter
                "A listing of open or of closed episodes holds all of them and no others, whatever its limit.";
            reflective fresh note_add_01 "NOTE-ADD-01" notes::add
                "A note has what the caller gives, and defaults for the rest: a new id, the workspace `default`, the clock's time.";
            reflective fresh note_order_01 "NOTE-ORDER-01" notes::order
                "Notes are listed by created_at, then insertion.";
            reflective fresh note_delete_01 "NOTE-DELETE-01" notes::delete
                "A deleted note is in no read; deleting it again succeeds and says that it was not there.";
            reflective fresh note_source_01 "NOTE-SOURCE-01" notes::unknown_source
                "A note drawn from an episode that does not exist is NotFound, and not stored.";
            all fresh note_source_02 "NOTE-SOURCE-02" notes::foreign_source
                "Every source of a note must exist in the note's workspace.";
            all fresh note_source_03 "NOTE-SOURCE-03" notes::source_order
                "A note's sources are in the caller's order.";
            all fresh note_source_04 "NOTE-SOURCE-04" notes::deleted_source
                "A note keeps the id of a source that has been deleted.";
            reflective fresh state_put_01 "STATE-PUT-01" state::puts
                "A put stores the value with version 1, and over an entry with the next version; created_at stays.";
            reflective fresh state_put_02 "STATE-PUT-02" state::null_is_a_value
                "The value null is not the absence of an entry.";
            reflective fresh state_delete_01 "STATE-DELETE-01" state::deleting
                "A deleted entry is in no read, and a scan's slot of it has no value.";
            reflective fresh state_version_01 "STATE-VERSION-01" state::versions_only_grow
                "The versions of a key only grow, across update, deletion and expiry.";
            reflective fresh state_version_02 "STATE-VERSION-02" state::versions_outlive_prune
                "The versions of a key go on after prune.";
            reflective reopen state_version_03 "STATE-VERSION-03" state::versions_outlive_reopen
                "The versions of a key go on after reopening.";
            reflective fresh state_expect_01 "STATE-EXPECT-01" state::expecting_absence
                "A put or deletion that expects no entry happens only if there is none.";
            reflective fresh state_expect_02 "STATE-EXPECT-02" state::expecting_a_version
                "A put or deletion that expects a version happens only if the entry is of exactly this version.";
            reflective fresh state_expect_03 "STATE-EXPECT-03" state::expectations_in_a_batch
                "An expectation is about what the earlier ops of its batch have left.";
            reflective fresh state_expect_04 "STATE-EXPECT-04" state::expired_to_expectations
                "An expired entry is absent to an expectation, a put and a deletion.";
            reflective fresh state_expect_05 "STATE-EXPECT-05" state::no_lost_update
                "Of many tasks that compare and set at once, none loses an update.";
            reflective second_handle state_expect_06 "STATE-EXPECT-06" state::no_lost_update_across_handles
                "Of many tasks that compare and set at once through two handles, none loses an update.";
            reflective fresh state_expire_01 "STATE-EXPIRE-01" state::expiry_to_the_microsecond
                "An entry is there before its expiry and absent from that microsecond on, also when the clock steps back.";
            reflective fresh state_expire_02 "STATE-EXPIRE-02" state::expiry_of_any_length
                "Any time to live is served, a put without one removes it, and one beside expires_at is InvalidArgument.";
            reflective fresh state_expire_03 "STATE-EXPIRE-03" state::expired_is_absent_everywhere
                "An expired entry is absent from every listing, and no page counts it.";
            reflective fresh state_order_01 "STATE-ORDER-01" state::order_is_bytewise
                "State is listed by workspace, then key, both bytewise; keys may be empty.";
            reflective fresh state_prefix_01 "STATE-PREFIX-01" state::prefix_is_literal
                "A prefix is literal: it has no wildcards, and case and accents count.";
            reflective fresh state_scope_01 "STATE-SCOPE-01" state::workspaces_are_apart
                "An entry is under its workspace and its key: the two never run together.";
            reflective fresh audit_append_01 "AUDIT-APPEND-01" audit::append
                "An audit record has what the caller gives, and defaults for the rest: a new id, the workspace `default`, the clock's time, detail null.";
            reflective fresh audit_seq_01 "AUDIT-SEQ-01" audit::numbers
                "Audit records are numbered from 1 in each workspace, in the order of their commits.";
            reflective fresh audit_hash_01 "AUDIT-HASH-01" audit::known_hashes
                "The hash of an audit record is the one that the contract's formula gives.";
            reflective fresh audit_hash_02 "AUDIT-HASH-02" audit::key_order
                "The order in which a detail's keys are written does not matter.";
            reflective fresh audit_head_01 "AUDIT-HEAD-01" audit::head
                "The head of a chain is that of its last record, and of an empty chain 0 and zeros.";
            reflective fresh audit_chain_01 "AUDIT-CHAIN-01" audit::concurrent
                "Concurrent appends make one chain.";
            reflective second_handle audit_chain_02 "AUDIT-CHAIN-02" audit::concurrent_handles
                "Concurrent appends through two handles make one chain.";
            reflective reopen audit_chain_03 "AUDIT-CHAIN-03" audit::reopened
                "A chain holds and goes on after reopening.";
            reflective fresh audit_chain_04 "AUDIT-CHAIN-04" audit::forgotten
                "Forgetting a workspace starts its chain anew, and no other.";
            reflective fresh audit_order_01 "AUDIT-ORDER-01" audit::listing
                "The audit log is by seq, over all workspaces by workspace, then seq, whatever the page.";
            any fresh fidelity_field_01 "FIDELITY-FIELD-01" fidelity::fields
                "Every field of every record comes back through the outcome, by id, list and scan.";
            any reopen fidelity_field_02 "FIDELITY-FIELD-02" fidelity::reopening
                "Every field of every record comes back after reopening.";
            any fresh fidelity_number_01 "FIDELITY-NUMBER-01" fidelity::numbers
                "Numbers in JSON come back exactly: integers of 64 bits, and floats with their sign and last bit.";
            any fresh fidelity_json_01 "FIDELITY-JSON-01" fidelity::json
                "JSON of any shape comes back equal: empty, deep and wide, with any key.";
            any fresh fidelity_time_01 "FIDELITY-TIME-01" fidelity::times
                "Times of the years 0 to 9999 come back to the microsecond.";
            any fresh fidelity_size_01 "FIDELITY-SIZE-01" fidelity::sizes
                "Texts of 2 MB come back whole.";
            any fresh hostile_text_01 "HOSTILE-TEXT-01" hostile::everywhere
                "Any text comes back byte for byte from every place that takes it.";
            reflective fresh hostile_key_01 "HOSTILE-KEY-01" hostile::idempotency_keys
                "Any name is an idempotency key of its own.";
            reflective fresh hostile_prefix_01 "HOSTILE-PREFIX-01" hostile::prefixes
                "Any name is a literal prefix.";
            episodic fresh hostile_query_01 "HOSTILE-QUERY-01" hostile::episode_queries
                "Any text is a question to episodes, and finds the one that has its words.";
            sessions fresh hostile_query_02 "HOSTILE-QUERY-02" hostile::turn_queries
                "Any text is a question to turns, and finds the one that has its words, by any session, role and tag.";
            reflective fresh hostile_query_03 "HOSTILE-QUERY-03" hostile::note_queries
                "Any text is a question to notes, and finds the one that has its words.";
            sessions fresh hostile_find_01 "HOSTILE-FIND-01" hostile::substrings
                "Any text is found where it stands in a turn.";
            episodic fresh stats_count_01 "STATS-COUNT-01" upkeep::episodes_counted
                "Statistics count the episodes that there are, after every kind of deletion.";
            sessions fresh stats_count_02 "STATS-COUNT-02" upkeep::sessions_counted
                "Statistics count the sessions, turns and steps that there are, after every kind of deletion.";
            reflective fresh stats_count_03 "STATS-COUNT-03" upkeep::reflective_counted
                "Statistics count the notes, state entries and audit records that there are, after every kind of deletion.";
            any fresh compact_keep_01 "COMPACT-KEEP-01" upkeep::compacted
                "After compact all records are there, in their order.";
            episodic fresh compact_keep_02 "COMPACT-KEEP-02" upkeep::order_after_compact
                "After compact what is new still comes last, and cursors go on.";
            sessions fresh compact_keep_03 "COMPACT-KEEP-03" upkeep::indexes_after_compact
                "After compact no index is used again.";
            reflective fresh compact_keep_04 "COMPACT-KEEP-04" upkeep::versions_after_compact
                "After compact versions and chains go on.";
            any fresh batch_atomic_01 "BATCH-ATOMIC-01" batches::refused_leaves_nothing
                "A batch with a refused op stores nothing, and the store goes on as if it had not been.";
            any fresh batch_atomic_02 "BATCH-ATOMIC-02" batches::error_names_position
                "The error that refuses a batch names the position of the refused op, counted from 0, under `op`.";
            any fresh batch_outcome_01 "BATCH-OUTCOME-01" batches::one_outcome_an_op
                "A receipt has one outcome an op, in order: the record as it is stored.";
            any fresh batch_outcome_02 "BATCH-OUTCOME-02" batches::empty_batch
                "An empty batch is committed, with no outcome.";
            any fresh batch_clock_01 "BATCH-CLOCK-01" batches::one_clock_reading
                "One clock reading serves a batch: the time of its receipt is that of all its records.";
            any fresh batch_order_01 "BATCH-ORDER-01" batches::insertion_follows_the_ops
                "Records are inserted in the order of the ops, whatever their ids, and batches in the order of their commits.";
            any fresh batch_order_02 "BATCH-ORDER-02" batches::made_anew_is_last
                "A record that a batch deletes and creates again is a new one, last in order of insertion.";
            sessions fresh batch_later_01 "BATCH-LATER-01" batches::sessions_see_earlier_ops
                "Ops on sessions, turns and steps see what earlier ops of their batch did.";
            episodic fresh batch_later_02 "BATCH-LATER-02" batches::episodes_see_earlier_ops
                "Ops on episodes see what earlier ops of their batch did.";
            reflective fresh batch_later_03 "BATCH-LATER-03" batches::reflections_see_earlier_ops
                "Ops on notes, state and audit see what earlier ops of their batch did.";
            any fresh batch_later_04 "BATCH-LATER-04" batches::made_and_deleted_in_a_batch
                "What a batch creates and deletes again is not there after it.";
            sessions fresh batch_later_05 "BATCH-LATER-05" batches::session_made_anew_in_a_batch
                "A session that a batch deletes and starts again has nothing of the old one: no turn, step, tag or index.";
            any fresh batch_visible_01 "BATCH-VISIBLE-01" batches::later_reads_see_it
                "What was committed is seen by every later read: by id, in scans, counts and workspaces.";
            any second_handle batch_visible_02 "BATCH-VISIBLE-02" batches::other_handles_see_it
                "What was committed is seen by every later read of every other handle.";
            any reopen batch_durable_01 "BATCH-DURABLE-01" batches::reopening_keeps_it
                "What was committed is there, equal and in its order, when the store is opened again.";
            any fresh id_generated_01 "ID-GENERATED-01" batches::generated_ids
                "A generated id is the prefix of its kind and a UUIDv7, and no two are equal.";
            any fresh id_unique_01 "ID-UNIQUE-01" batches::ids_are_the_stores
                "An id is unique for its kind in the store: another workspace cannot use it.";
            sessions fresh error_unknown_01 "ERROR-UNKNOWN-01" errors::unknown_sessions_and_turns
                "An op on a session or turn that does not exist is NotFound and names it; only deletions succeed.";
            any fresh error_unknown_02 "ERROR-UNKNOWN-02" errors::deleting_nothing
                "Deleting what is not there succeeds and says that it did not exist.";
            sessions fresh error_ended_01 "ERROR-ENDED-01" errors::ended_sessions
                "Recording a turn or step in a session that has ended is Conflict, until it is resumed.";
            sessions fresh error_tokens_01 "ERROR-TOKENS-01" errors::overflowing_tokens
                "Recording or deleting a turn that makes the session's total of tokens overflow is InvalidArgument.";
            any fresh error_body_01 "ERROR-BODY-01" errors::another_body
                "Creating a record under an id that exists with another body is Conflict and names it.";
            any fresh error_precedence_01 "ERROR-PRECEDENCE-01" errors::words_before_stored_state
                "Words that are wrong in any op are InvalidArgument before anything stored is looked at.";
            sessions fresh error_precedence_02 "ERROR-PRECEDENCE-02" errors::order_of_refusals
                "Within an op InvalidArgument comes before NotFound before Conflict, as far as each can be known.";
            any fresh error_precedence_03 "ERROR-PRECEDENCE-03" errors::first_refusal_tells
                "Of several refused ops the first one's refusal is told.";
            any fresh error_precedence_04 "ERROR-PRECEDENCE-04" retries::words_before_key
                "Words that are wrong are InvalidArgument also under an idempotency key that was used.";
            any fresh error_content_01 "ERROR-CONTENT-01" errors::errors_hold_no_content
                "An error holds ids, positions and field names, never content.";
            any fresh bounds_name_01 "BOUNDS-NAME-01" bounds::ids_at_the_bound
                "An id or state key of 1,024 bytes works, whatever its bytes.";
            any fresh bounds_name_02 "BOUNDS-NAME-02" bounds::workspaces_at_the_bound
                "A workspace's name of 1,024 bytes works.";
            sessions fresh bounds_name_03 "BOUNDS-NAME-03" bounds::turn_names_at_the_bound
                "A role, tag, embedding id, step name or status of 1,024 bytes works.";
            sessions fresh bounds_name_04 "BOUNDS-NAME-04" bounds::session_names_beyond
                "Names beyond 1,024 bytes are InvalidArgument with their field in every op on sessions, turns and steps.";
            episodic fresh bounds_name_05 "BOUNDS-NAME-05" bounds::episode_names_beyond
                "Names beyond 1,024 bytes are InvalidArgument with their field in every op on episodes.";
            reflective fresh bounds_name_06 "BOUNDS-NAME-06" bounds::reflection_names_beyond
                "Names beyond 1,024 bytes are InvalidArgument with their field in every op on notes, state and audit.";
            any fresh bounds_name_07 "BOUNDS-NAME-07" bounds::empty_names
                "An empty id or idempotency key is InvalidArgument; a workspace, state key, tag and role may be empty.";
            any fresh bounds_json_01 "BOUNDS-JSON-01" bounds::json_at_the_bound
                "JSON may nest 100 deep, and comes back equal.";
            any fresh bounds_json_02 "BOUNDS-JSON-02" bounds::json_beyond
                "JSON that nests deeper than 100 is InvalidArgument with its field.";
            any fresh bounds_batch_01 "BOUNDS-BATCH-01" bounds::too_many_ops
                "A batch may have 100,000 ops; one of more is InvalidArgument.";
            any fresh bounds_batch_02 "BOUNDS-BATCH-02" bounds::batch_beyond
                "A batch of more than 256 MiB is InvalidArgument.";
            any fresh bounds_text_01 "BOUNDS-TEXT-01" bounds::text_beyond
                "A text of 64 MiB works; one beyond is InvalidArgument with its field.";
            any fresh retry_key_01 "RETRY-KEY-01" retries::same_batch_again
                "The same batch under the same key is not done again but answered with its receipt.";
            any fresh retry_key_02 "RETRY-KEY-02" retries::another_batch
                "Another batch under a key that was used is Conflict; keys are compared exactly.";
            any reopen retry_key_03 "RETRY-KEY-03" retries::again_after_reopening
                "A key is honoured after the store was opened again.";
            any second_handle retry_key_04 "RETRY-KEY-04" retries::again_on_another_handle
                "A key is honoured by every other handle.";
            any fresh retry_key_05 "RETRY-KEY-05" retries::again_after_changes
                "A receipt that is given again holds created records as they were created, whatever has changed since.";
            any fresh retry_key_06 "RETRY-KEY-06" retries::again_after_deletion
                "A batch under a used key is not done again when what it created has been deleted.";
            sessions fresh retry_key_07 "RETRY-KEY-07" retries::changes_again
                "In a receipt that is given again, an op that changed a record answers with it as it is now, or Gone.";
            any fresh retry_key_08 "RETRY-KEY-08" retries::seven_days
                "A key is honoured for 7 days, prune or not, and then free.";
            any fresh retry_key_09 "RETRY-KEY-09" retries::pruned_receipts
                "Prune forgets receipts that are no longer honoured, and no others.";
            any fresh retry_key_10 "RETRY-KEY-10" retries::refused_leaves_key_free
                "A refused batch leaves its key free.";
            any fresh retry_id_01 "RETRY-ID-01" retries::same_ids_again
                "Creating a record again under its id with the same body answers with the stored record and stores nothing.";
            any fresh retry_id_02 "RETRY-ID-02" retries::same_ids_in_one_batch
                "Creating a record twice in one batch stores it once.";
            sessions fresh retry_id_03 "RETRY-ID-03" retries::changed_session_again
                "A retry by id of a session, turn or step is known after any change, and comes before any check of state.";
            sessions reopen retry_id_04 "RETRY-ID-04" retries::changed_session_after_reopening
                "A retry by id of a changed session, turn or step is known after reopening.";
            episodic fresh retry_id_05 "RETRY-ID-05" retries::changed_episode_again
                "A retry by id of an episode is known after any change.";
            episodic reopen retry_id_06 "RETRY-ID-06" retries::changed_episode_after_reopening
                "A retry by id of a changed episode is known after reopening.";
            all fresh retry_id_07 "RETRY-ID-07" retries::note_without_its_source_again
                "A retry by id of a note is known when its source has been deleted.";
            any fresh retry_id_08 "RETRY-ID-08" retries::deleted_ids_are_free
                "The id of a deleted record is free for another body.";
            sessions fresh session_ensure_01 "SESSION-ENSURE-01" retries::ensure_makes
                "EnsureSession makes the session if there is none.";
            sessions fresh session_ensure_02 "SESSION-ENSURE-02" retries::ensure_finds
                "EnsureSession answers with the session that is there, however it has changed.";
            sessions fresh session_ensure_03 "SESSION-ENSURE-03" retries::ensure_refuses
                "EnsureSession is Conflict for a field that is set otherwise than it was created, StartSession also for one left out.";
            any fresh restore_record_01 "RESTORE-RECORD-01" restore::verbatim
                "A restored record is stored as it is: index, version, times, sources, tags.";
            any fresh restore_record_02 "RESTORE-RECORD-02" restore::repeatable
                "Restoring a record again changes nothing.";
            any fresh restore_record_03 "RESTORE-RECORD-03" restore::changed_since
                "Restoring a record again leaves what has been changed since.";
            any fresh restore_record_04 "RESTORE-RECORD-04" restore::another_body
                "Restoring another record under an id or state key that is taken is Conflict.";
            sessions fresh restore_turn_01 "RESTORE-TURN-01" restore::turns_and_steps_fit
                "A restored turn or step needs its session (NotFound), in its workspace and with its index free (Conflict).";
            sessions fresh restore_turn_02 "RESTORE-TURN-02" restore::next_indexes_never_go_back
                "A session's next indexes never go back, whatever is restored.";
            reflective fresh restore_state_01 "RESTORE-STATE-01" restore::versions_go_on
                "The versions of a restored state slot go on, be it an entry or what a deleted one left.";
            reflective fresh restore_audit_01 "RESTORE-AUDIT-01" restore::audit_only_next
                "An audit record is restored only as the next of its chain, with its own hash.";
            reflective fresh restore_note_01 "RESTORE-NOTE-01" restore::missing_sources
                "A restored note keeps the ids of sources that are not there.";
            any fresh restore_batch_01 "RESTORE-BATCH-01" restore::forgotten_in_the_same_batch
                "A batch may forget a workspace and restore it: everything is there as before.";
            any fresh restore_copy_01 "RESTORE-COPY-01" restore::copies_are_equal
                "A copy by scan and restore is equal, in the same order, and goes on alike.";
            sessions fresh forget_condition_01 "FORGET-CONDITION-01" forgetting::sessions_ended_before
                "A deletion with `ended_before` takes only a session that ended before that instant.";
            episodic fresh forget_condition_02 "FORGET-CONDITION-02" forgetting::episodes_closed_before
                "A deletion with `closed_before` takes only an episode that is closed since before that instant.";
            reflective fresh forget_condition_03 "FORGET-CONDITION-03" forgetting::state_expired_before
                "A deletion with `expired_before` takes only an entry that has expired, and did before that instant.";
            any fresh forget_workspace_01 "FORGET-WORKSPACE-01" forgetting::a_workspace_leaves_nothing
                "ForgetWorkspace counts and deletes everything of the workspace and nothing of others; its ids, versions and chain begin anew.";
            any fresh forget_workspace_02 "FORGET-WORKSPACE-02" forgetting::a_workspace_within_a_batch
                "ForgetWorkspace takes what earlier ops of its batch made, and leaves what later ones make.";
            any fresh prune_over_01 "PRUNE-OVER-01" forgetting::prune_twice
                "Prune deletes what was over before the instant, not at it, and tells the counts; again, it finds nothing.";
            any fresh prune_over_02 "PRUNE-OVER-02" forgetting::prune_spares_the_rest
                "Prune spares open sessions and episodes, living state, notes and audit, however old.";
            any fresh prune_scope_01 "PRUNE-SCOPE-01" forgetting::prune_a_workspace
                "Prune of a workspace takes nothing from another.";
            sessions fresh prune_many_01 "PRUNE-MANY-01" forgetting::prune_thousands
                "Prune of thousands of sessions takes all of them with their turns.";
            any faults fault_commit_01 "FAULT-COMMIT-01" faults::failed_commits
                "When the engine cannot write, a commit is a typed error that is retryable, nothing is stored, and the store works afterwards.";
            any faults fault_commit_02 "FAULT-COMMIT-02" faults::many_failed_commits
                "When the engine cannot write, none of many waiting batches is acknowledged or stored, and their keys stay free.";
            any faults fault_read_01 "FAULT-READ-01" faults::readable_meanwhile
                "When the engine cannot write, what is stored can be read.";
            any fresh cancel_commit_01 "CANCEL-COMMIT-01" cancel::dropped_commits
                "A commit that is dropped at any await point leaves its batch whole or not at all, and the next commit is clean.";
            any second_handle cancel_commit_02 "CANCEL-COMMIT-02" cancel::dropped_commits_hold_no_lock
                "A commit that is dropped at any await point leaves no lock behind.";
            any fresh cancel_commit_03 "CANCEL-COMMIT-03" cancel::dropped_commits_again
                "A batch under a key whose commit was dropped is stored once when it is committed again.";
            any fresh cancel_read_01 "CANCEL-READ-01" cancel::dropped_reads
                "Reads that are dropped at any await point hold nothing.";
            any fresh writers_whole_01 "WRITERS-WHOLE-01" writers::whole
                "Among many writers each batch is whole, and a refused one leaves no trace.";
            any second_handle writers_whole_02 "WRITERS-WHOLE-02" writers::whole_on_two_handles
                "Among many writers on two handles each batch is whole, and a refused one leaves no trace.";
            sessions fresh writers_index_01 "WRITERS-INDEX-01" writers::indexes
                "Indexes have no gap and no duplicate under many writers, and follow each other within a batch.";
            sessions second_handle writers_index_02 "WRITERS-INDEX-02" writers::indexes_on_two_handles
                "Indexes have no gap and no duplicate under many writers on two handles.";
            any fresh writers_once_01 "WRITERS-ONCE-01" writers::ids_once
                "Of many who create a record under one id at once, all get the one with the same body, and one with different bodies.";
            any second_handle writers_once_02 "WRITERS-ONCE-02" writers::ids_once_on_two_handles
                "Of many on two handles who create a record under one id at once, all get the one with the same body, and one with different bodies.";
            any fresh writers_once_03 "WRITERS-ONCE-03" writers::keys_once
                "A batch that many commit at once under one key is stored once, and all get its receipt.";
            any second_handle writers_once_04 "WRITERS-ONCE-04" writers::keys_once_on_two_handles
                "A batch that many on two handles commit at once under one key is stored once, and all get its receipt.";
            sessions fresh writers_read_01 "WRITERS-READ-01" writers::readers_see_whole_batches
                "A read among writers sees whole batches, and a later one no less.";
            any second_handle writers_open_01 "WRITERS-OPEN-01" writers::opening_at_once
                "Many may open and write one new store at once.";
            any fresh feed_order_01 "FEED-ORDER-01" feed::commits_in_order
                "A feed tells the receipts of this handle's commits from its subscription on, in commit order, and no refusals.";
            sessions fresh feed_order_02 "FEED-ORDER-02" feed::commits_in_order_of_many
                "A feed tells the commits of many writers in commit order.";
            any fresh feed_missed_01 "FEED-MISSED-01" feed::slow_subscribers
                "A slow subscriber is told how many commits it missed.";
            any fresh feed_end_01 "FEED-END-01" feed::the_end
                "A feed ends when the handle is closed and all has been told, also for one who waits.";
            any fresh close_handle_01 "CLOSE-HANDLE-01" closing::closing_twice
                "Closing twice is fine.";
            any fresh close_handle_02 "CLOSE-HANDLE-02" closing::later_calls_are_closed
                "Every call after close is Closed.";
            any reopen close_handle_03 "CLOSE-HANDLE-03" closing::accepted_batches_are_finished
                "Close finishes the batches that were accepted; one that is refused as Closed is not stored.";
        }
    };
}

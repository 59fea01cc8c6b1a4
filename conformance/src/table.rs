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
            sessions fresh turn_order_03 "TURN-ORDER-03" turns::given_times
                "Turns are in the order in which they were recorded, whatever times the caller gives.";
            sessions fresh turn_order_04 "TURN-ORDER-04" turns::newest_first
                "A listing of turns from the newest is that from the oldest turned round.";
            sessions fresh turn_index_01 "TURN-INDEX-01" turns::indexes_are_dense
                "Turns have the indexes 0, 1, 2 … of their session, apart from other sessions and from steps.";
            sessions fresh turn_index_02 "TURN-INDEX-02" turns::refused_turns_take_no_index
                "A turn that is refused, or recorded before, takes no index.";
            sessions fresh turn_index_03 "TURN-INDEX-03" turns::deleted_indexes_stay_unused
                "The index of a deleted turn is never used again, and the others keep theirs.";
            sessions reopen turn_index_04 "TURN-INDEX-04" turns::deleted_indexes_stay_unused_after_reopening
                "The index of a deleted turn is never used again, also after reopening.";
            sessions fresh turn_delete_01 "TURN-DELETE-01" turns::same_id_again
                "A deleted turn is gone; its id may be given to a new turn, which has nothing of the old one.";
            sessions fresh turn_last_01 "TURN-LAST-01" turns::last_n
                "The last n turns are the newest ones, in order; all if there are fewer.";
            sessions fresh turn_tag_01 "TURN-TAG-01" turns::tag_names_are_data
                "Any text is the name of a tag, compared exactly.";
            sessions fresh turn_tag_02 "TURN-TAG-02" turns::tags_change_alone
                "Tagging, untagging and setting the embedding change nothing else of a turn.";
            sessions fresh step_order_01 "STEP-ORDER-01" steps::clock_stands_and_steps_back
                "Steps are in the order in which they were recorded when the clock stands still or steps back.";
            sessions reopen step_order_02 "STEP-ORDER-02" steps::order_after_reopening
                "Steps are in the order in which they were recorded, and go on counting, after reopening.";
            sessions fresh step_index_01 "STEP-INDEX-01" steps::indexes_are_their_own
                "Steps have the indexes 0, 1, 2 … of their session, apart from its turns.";
            sessions fresh step_read_01 "STEP-READ-01" steps::come_back_whole
                "A step comes back as it was recorded, by id and in the listing.";
            sessions fresh session_total_01 "SESSION-TOTAL-01" sessions::totals_are_current
                "Counts, total tokens and next indexes of a session are current after every commit.";
            sessions reopen session_total_02 "SESSION-TOTAL-02" sessions::totals_after_reopening
                "Counts, total tokens and next indexes of a session are the same after reopening.";
            sessions fresh session_active_01 "SESSION-ACTIVE-01" sessions::last_active_is_the_latest
                "last_active is the latest of the start and of all turns and steps there ever were.";
            sessions fresh session_prompt_01 "SESSION-PROMPT-01" sessions::first_prompt_by_position
                "The first prompt is the first turn of the role user by position, and absent without one.";
            sessions fresh session_prompt_02 "SESSION-PROMPT-02" sessions::first_prompt_is_cut
                "The first prompt is cut at 256 characters.";
            sessions fresh session_prompt_03 "SESSION-PROMPT-03" sessions::first_prompt_follows_deletions
                "The first prompt is that of the turns which are there now.";
            sessions fresh session_prompt_04 "SESSION-PROMPT-04" sessions::first_prompt_with_nul
                "U+0000 in a first prompt is a character like any other.";
            sessions fresh session_prompt_05 "SESSION-PROMPT-05" sessions::first_prompt_only_in_reads
                "The first prompt is in reads of sessions, not in outcomes and scanned records.";
            sessions fresh session_prompt_06 "SESSION-PROMPT-06" sessions::first_prompt_follows_restoring
                "A turn that is restored before the first user turn is the first prompt.";
            sessions fresh session_list_01 "SESSION-LIST-01" sessions::listed_by_start
                "Sessions by started_at come newest first, ties by insertion, of one workspace or all.";
            sessions fresh session_list_02 "SESSION-LIST-02" sessions::listed_by_activity
                "Sessions by last_active come newest first, ties by insertion, of one workspace or all.";
            sessions fresh session_list_03 "SESSION-LIST-03" sessions::new_activity_moves_up
                "A new turn or step moves its session up by last_active, not by started_at.";
            sessions fresh session_list_04 "SESSION-LIST-04" sessions::default_limits
                "Sessions, turns and steps are listed 20 at a time if no limit is given.";
            sessions fresh session_end_01 "SESSION-END-01" sessions::first_end_stays
                "A session that has ended keeps its first end until it is resumed.";
            sessions fresh session_summary_01 "SESSION-SUMMARY-01" sessions::summary_changes_alone
                "Setting or removing a summary changes nothing else of a session, open or ended.";
            sessions fresh session_unknown_01 "SESSION-UNKNOWN-01" sessions::lists_of_unknown_sessions
                "The turns and steps of a session that is not in scope are NotFound, not an empty list.";
            sessions fresh session_delete_01 "SESSION-DELETE-01" deletion::leaves_no_record
                "Deleting a session deletes its turns, steps and tags, and counts them.";
            sessions fresh session_delete_02 "SESSION-DELETE-02" deletion::leaves_nothing_to_find
                "Nothing of a deleted session is found or recalled.";
            sessions reopen session_delete_03 "SESSION-DELETE-03" deletion::leaves_nothing_after_reopening
                "Nothing of a deleted session is there after reopening.";
            sessions fresh session_delete_04 "SESSION-DELETE-04" deletion::same_id_again
                "A new session under the id of a deleted one has nothing of it, and counts from 0.";
            sessions fresh page_change_01 "PAGE-CHANGE-01" paging::started_change
                "Pages of sessions by started_at neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            sessions fresh page_change_02 "PAGE-CHANGE-02" paging::active_change
                "Pages of sessions by last_active neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            sessions fresh page_change_03 "PAGE-CHANGE-03" paging::turns_change
                "Pages of turns neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            sessions fresh page_change_04 "PAGE-CHANGE-04" paging::newest_turns_change
                "Pages of turns from the newest neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            sessions fresh page_change_05 "PAGE-CHANGE-05" paging::steps_change
                "Pages of steps neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            episodic fresh page_change_06 "PAGE-CHANGE-06" paging::episodes_change
                "Pages of episodes neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            episodic fresh page_change_07 "PAGE-CHANGE-07" paging::open_episodes_change
                "Pages of open episodes neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            episodic fresh page_new_01 "PAGE-NEW-01" paging::new_episodes_follow
                "A new episode comes after every cursor of a listing from the oldest and of a scan, though the newest have gone.";
            reflective fresh page_new_02 "PAGE-NEW-02" paging::new_notes_follow
                "A new note comes after every cursor of a listing and of a scan, though the newest have gone.";
            sessions fresh page_new_03 "PAGE-NEW-03" paging::new_turns_follow
                "A new turn comes after every cursor of a scan, though the newest have gone.";
            reflective fresh page_change_08 "PAGE-CHANGE-08" paging::notes_change
                "Pages of notes neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            reflective fresh page_change_09 "PAGE-CHANGE-09" paging::states_change
                "Pages of state entries neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            reflective fresh page_change_10 "PAGE-CHANGE-10" paging::audit_change
                "Pages of a workspace's audit log neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            reflective fresh page_change_11 "PAGE-CHANGE-11" paging::all_audit_change
                "Pages of all audit logs neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            sessions fresh page_change_12 "PAGE-CHANGE-12" paging::scanned_sessions_change
                "Pages of scanned sessions, turns and steps neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            episodic fresh page_change_13 "PAGE-CHANGE-13" paging::scanned_episodes_change
                "Pages of scanned episodes neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            reflective fresh page_change_14 "PAGE-CHANGE-14" paging::scanned_reflections_change
                "Pages of scanned notes, state slots and audit records neither skip nor repeat a row that did not move, whatever comes and goes between them.";
            sessions fresh page_scope_01 "PAGE-SCOPE-01" paging::started_scope
                "Pages of sessions by started_at of one workspace hold its rows only, and neither skip nor repeat one.";
            sessions fresh page_scope_02 "PAGE-SCOPE-02" paging::active_scope
                "Pages of sessions by last_active of one workspace hold its rows only, and neither skip nor repeat one.";
            episodic fresh page_scope_03 "PAGE-SCOPE-03" paging::episodes_scope
                "Pages of episodes of one workspace hold its rows only, and neither skip nor repeat one.";
            episodic fresh page_scope_04 "PAGE-SCOPE-04" paging::open_episodes_scope
                "Pages of open episodes of one workspace hold its rows only, and neither skip nor repeat one.";
            reflective fresh page_scope_05 "PAGE-SCOPE-05" paging::notes_scope
                "Pages of notes of one workspace hold its rows only, and neither skip nor repeat one.";
            reflective fresh page_scope_06 "PAGE-SCOPE-06" paging::states_scope
                "Pages of state entries of one workspace hold its rows only, and neither skip nor repeat one.";
            sessions fresh page_scope_07 "PAGE-SCOPE-07" paging::scanned_sessions_scope
                "Pages of scanned sessions, turns and steps of one workspace hold its rows only, and neither skip nor repeat one.";
            episodic fresh page_scope_08 "PAGE-SCOPE-08" paging::scanned_episodes_scope
                "Pages of scanned episodes of one workspace hold its rows only, and neither skip nor repeat one.";
            reflective fresh page_scope_09 "PAGE-SCOPE-09" paging::scanned_reflections_scope
                "Pages of scanned notes, state slots and audit records of one workspace hold its rows only, and neither skip nor repeat one.";
            sessions fresh page_limit_01 "PAGE-LIMIT-01" paging::started_limits
                "A page of sessions by started_at holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            sessions fresh page_limit_02 "PAGE-LIMIT-02" paging::active_limits
                "A page of sessions by last_active holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            sessions fresh page_limit_03 "PAGE-LIMIT-03" paging::turns_limits
                "A page of turns holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            sessions fresh page_limit_04 "PAGE-LIMIT-04" paging::newest_turns_limits
                "A page of turns from the newest holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            sessions fresh page_limit_05 "PAGE-LIMIT-05" paging::steps_limits
                "A page of steps holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            episodic fresh page_limit_06 "PAGE-LIMIT-06" paging::episodes_limits
                "A page of episodes holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            reflective fresh page_limit_07 "PAGE-LIMIT-07" paging::notes_limits
                "A page of notes holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            reflective fresh page_limit_08 "PAGE-LIMIT-08" paging::states_limits
                "A page of state entries holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            reflective fresh page_limit_09 "PAGE-LIMIT-09" paging::audit_limits
                "A page of a workspace's audit log holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            reflective fresh page_limit_10 "PAGE-LIMIT-10" paging::all_audit_limits
                "A page of all audit logs holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            sessions fresh page_limit_11 "PAGE-LIMIT-11" paging::scanned_turns_limits
                "A page of scanned turns holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            episodic fresh page_limit_12 "PAGE-LIMIT-12" paging::scanned_episodes_limits
                "A page of scanned episodes holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            reflective fresh page_limit_13 "PAGE-LIMIT-13" paging::scanned_notes_limits
                "A page of scanned notes holds limit rows: none for 0, all for usize::MAX, and a cursor only if rows are left.";
            sessions fresh page_time_01 "PAGE-TIME-01" paging::started_times
                "Sessions by started_at are in the order of time from the year 0 to 9999, page by page.";
            sessions fresh page_time_02 "PAGE-TIME-02" paging::active_times
                "Sessions by last_active are in the order of time from the year 0 to 9999, page by page.";
            episodic fresh page_time_03 "PAGE-TIME-03" paging::episodes_times
                "Episodes are in the order of time from the year 0 to 9999, page by page.";
            reflective fresh page_time_04 "PAGE-TIME-04" paging::notes_times
                "Notes are in the order of time from the year 0 to 9999, page by page.";
            sessions reopen page_reopen_01 "PAGE-REOPEN-01" paging::sessions_reopened
                "A cursor of sessions, turns and steps goes on where it stood after reopening.";
            episodic reopen page_reopen_02 "PAGE-REOPEN-02" paging::episodes_reopened
                "A cursor of episodes goes on where it stood after reopening.";
            reflective reopen page_reopen_03 "PAGE-REOPEN-03" paging::reflective_reopened
                "A cursor of notes, state and audit goes on where it stood after reopening.";
            sessions fresh page_cursor_01 "PAGE-CURSOR-01" cursors::sessions_foreign
                "Listings of sessions, turns and steps refuse a cursor of another listing as InvalidArgument, whether of another kind, order, session, workspace or filter.";
            episodic fresh page_cursor_02 "PAGE-CURSOR-02" cursors::episodes_foreign
                "Listings of episodes refuse a cursor of another listing as InvalidArgument, whether of another kind, order, session, workspace or filter.";
            reflective fresh page_cursor_03 "PAGE-CURSOR-03" cursors::reflective_foreign
                "Listings of notes, state and audit refuse a cursor of another listing as InvalidArgument, whether of another kind, order, session, workspace or filter.";
            any fresh page_cursor_04 "PAGE-CURSOR-04" cursors::any_limit
                "A cursor goes on under any other limit.";
            sessions fresh many_turn_01 "MANY-TURN-01" many::turns
                "Of more than a thousand turns of a session every listing and scan gives each in order, whole or in pages, with its tags and metadata; so do the last n.";
            sessions fresh many_step_01 "MANY-STEP-01" many::steps
                "Of more than a thousand steps of a session every listing and scan gives each in order, whole or in pages.";
            sessions fresh many_session_01 "MANY-SESSION-01" many::sessions
                "Of more than a thousand sessions every listing and scan gives each in order, whole or in pages, with its metadata and first prompt.";
            episodic fresh many_episode_01 "MANY-EPISODE-01" many::episodes
                "Of more than a thousand episodes, open and closed, every listing and scan gives each in order, whole or in pages.";
            reflective fresh many_note_01 "MANY-NOTE-01" many::notes
                "Of more than a thousand notes every listing and scan gives each in order, whole or in pages, with its sources.";
            reflective fresh many_state_01 "MANY-STATE-01" many::states
                "Of more than a thousand state entries every listing and scan gives each in order, whole or in pages, under a prefix or none.";
            reflective fresh many_audit_01 "MANY-AUDIT-01" many::audit
                "Of more than a thousand audit records every listing and scan gives each in order, whole or in pages, and verify looks at all.";
            any fresh many_workspace_01 "MANY-WORKSPACE-01" many::workspaces
                "Of more than a thousand workspaces each is counted.";
            sessions fresh many_find_01 "MANY-FIND-01" many::find
                "More than a thousand turns are found if so many are asked for.";
            episodic fresh many_recall_01 "MANY-RECALL-01" many::recalled_episodes
                "More than a thousand episodes are recalled if so many are asked for.";
            sessions fresh many_recall_02 "MANY-RECALL-02" many::recalled_turns
                "More than a thousand turns are recalled if so many are asked for.";
            reflective fresh many_recall_03 "MANY-RECALL-03" many::recalled_notes
                "More than a thousand notes are recalled if so many are asked for.";
            sessions fresh many_tag_01 "MANY-TAG-01" many::tags
                "A turn has more than a thousand tags, given at once or one by one.";
            reflective fresh many_source_01 "MANY-SOURCE-01" many::sources
                "A note has more than a thousand sources, in their order.";
            sessions fresh many_index_01 "MANY-INDEX-01" many::turn_indexes
                "Turns are in order of index up to the greatest, and the one after a restored turn has the next index.";
            sessions fresh many_index_02 "MANY-INDEX-02" many::step_indexes
                "Steps are in order of index up to the greatest, and the one after a restored step has the next index.";
            sessions fresh many_delete_01 "MANY-DELETE-01" many::session_deleted
                "A session with more than a thousand turns, tags and steps is deleted whole, and counted.";
            any fresh many_forget_01 "MANY-FORGET-01" many::workspace_forgotten
                "A workspace with more than a thousand records of every kind is forgotten whole, and counted.";
            episodic fresh many_prune_01 "MANY-PRUNE-01" many::episodes_pruned
                "Prune of more than a thousand closed episodes takes all of them and no open one.";
            reflective fresh many_prune_02 "MANY-PRUNE-02" many::states_pruned
                "Prune of more than a thousand expired state entries takes all of them and no other.";
            sessions fresh scope_session_01 "SCOPE-SESSION-01" scope::sessions_by_id
                "A session, turn or step of another workspace is not there by id, and its lists are NotFound.";
            sessions fresh scope_session_02 "SCOPE-SESSION-02" scope::session_lists
                "Sessions, turns and steps are listed of exactly the workspace asked for.";
            sessions fresh scope_session_03 "SCOPE-SESSION-03" scope::turns_found
                "Turns are found and recalled of exactly the workspace asked for.";
            sessions fresh scope_session_04 "SCOPE-SESSION-04" scope::sessions_inherit
                "Turns and steps are of the workspace of their session; a session without one is of default.";
            episodic fresh scope_episode_01 "SCOPE-EPISODE-01" scope::episodes_by_id
                "An episode of another workspace is not there by id.";
            episodic fresh scope_episode_02 "SCOPE-EPISODE-02" scope::episode_lists
                "Episodes are listed of exactly the workspace asked for.";
            episodic fresh scope_episode_03 "SCOPE-EPISODE-03" scope::episodes_recalled
                "Episodes are recalled of exactly the workspace asked for.";
            reflective fresh scope_note_01 "SCOPE-NOTE-01" scope::notes
                "Notes are read and listed of exactly the workspace asked for.";
            reflective fresh scope_note_02 "SCOPE-NOTE-02" scope::notes_recalled
                "Notes are recalled of exactly the workspace asked for.";
            episodic_reflective fresh scope_note_03 "SCOPE-NOTE-03" scope::notes_inherit
                "A note without a workspace is of that of its sources, which must all be of one.";
            reflective fresh scope_state_01 "SCOPE-STATE-01" scope::states
                "State is read and listed of exactly the workspace asked for.";
            reflective fresh scope_audit_01 "SCOPE-AUDIT-01" scope::audits
                "Each workspace has an audit chain of its own.";
            sessions fresh scope_count_01 "SCOPE-COUNT-01" scope::sessions_counted
                "Stats, workspaces and scans tell sessions, turns and steps of similar workspaces apart.";
            episodic fresh scope_count_02 "SCOPE-COUNT-02" scope::episodes_counted
                "Stats, workspaces and scans tell episodes of similar workspaces apart.";
            reflective fresh scope_count_03 "SCOPE-COUNT-03" scope::reflections_counted
                "Stats, workspaces and scans tell notes, state and audit of similar workspaces apart.";
            sessions fresh scope_count_04 "SCOPE-COUNT-04" scope::emptied_workspaces
                "A workspace without records is not among the workspaces.";
            episodic fresh recall_episode_01 "RECALL-EPISODE-01" recall_exact::episodes::through_a_history
                "Recall of episodes gives the ids, order and score bits of the shared scorer at every moment of a long history.";
            episodic reopen recall_episode_02 "RECALL-EPISODE-02" recall_exact::episodes::after_reopening
                "Recall of episodes gives the ids, order and score bits of the shared scorer after reopening.";
            episodic fresh recall_episode_03 "RECALL-EPISODE-03" recall_exact::episodes::over_many
                "Recall of episodes is exact over more records than any block or set of candidates holds.";
            episodic fresh recall_episode_04 "RECALL-EPISODE-04" recall_exact::episodes::ties
                "Recalled episodes of one score come newest first, then by insertion; k cuts that order.";
            episodic fresh recall_episode_05 "RECALL-EPISODE-05" recall_exact::episodes::statistics_are_their_own
                "What other workspaces hold changes no score of recalled episodes.";
            episodic fresh recall_episode_06 "RECALL-EPISODE-06" recall_exact::episodes::filters_change_no_score
                "Filters choose among recalled episodes and change no score.";
            episodic fresh recall_episode_07 "RECALL-EPISODE-07" recall_exact::episodes::filters_before_the_limit
                "Filters of recalled episodes apply before the limit.";
            sessions fresh recall_turn_01 "RECALL-TURN-01" recall_exact::turns::through_a_history
                "Recall of turns gives the ids, order and score bits of the shared scorer at every moment of a long history.";
            sessions reopen recall_turn_02 "RECALL-TURN-02" recall_exact::turns::after_reopening
                "Recall of turns gives the ids, order and score bits of the shared scorer after reopening.";
            sessions fresh recall_turn_03 "RECALL-TURN-03" recall_exact::turns::over_many
                "Recall of turns is exact over more records than any block or set of candidates holds.";
            sessions fresh recall_turn_04 "RECALL-TURN-04" recall_exact::turns::ties
                "Recalled turns of one score come newest first, then by insertion; k cuts that order.";
            sessions fresh recall_turn_05 "RECALL-TURN-05" recall_exact::turns::statistics_are_their_own
                "What other workspaces hold changes no score of recalled turns.";
            sessions fresh recall_turn_06 "RECALL-TURN-06" recall_exact::turns::filters_change_no_score
                "Filters choose among recalled turns and change no score.";
            sessions fresh recall_turn_07 "RECALL-TURN-07" recall_exact::turns::filters_before_the_limit
                "Filters of recalled turns apply before the limit.";
            reflective fresh recall_note_01 "RECALL-NOTE-01" recall_exact::notes::through_a_history
                "Recall of notes gives the ids, order and score bits of the shared scorer at every moment of a long history.";
            reflective reopen recall_note_02 "RECALL-NOTE-02" recall_exact::notes::after_reopening
                "Recall of notes gives the ids, order and score bits of the shared scorer after reopening.";
            reflective fresh recall_note_03 "RECALL-NOTE-03" recall_exact::notes::over_many
                "Recall of notes is exact over more records than any block or set of candidates holds.";
            reflective fresh recall_note_04 "RECALL-NOTE-04" recall_exact::notes::ties
                "Recalled notes of one score come newest first, then by insertion; k cuts that order.";
            reflective fresh recall_note_05 "RECALL-NOTE-05" recall_exact::notes::statistics_are_their_own
                "What other workspaces hold changes no score of recalled notes.";
            reflective fresh recall_note_06 "RECALL-NOTE-06" recall_exact::notes::filters_change_no_score
                "Filters choose among recalled notes and change no score.";
            reflective fresh recall_note_07 "RECALL-NOTE-07" recall_exact::notes::filters_before_the_limit
                "Filters of recalled notes apply before the limit.";
            sessions fresh recall_turn_08 "RECALL-TURN-08" recall_exact::tag_filter
                "The tag filter of recalled turns is a name, compared exactly.";
            episodic fresh ask_episode_01 "ASK-EPISODE-01" recall_text::episodes::no_syntax
                "Any text is a question to episodes: nothing in it is syntax or an error.";
            episodic fresh ask_episode_02 "ASK-EPISODE-02" recall_text::episodes::nothing_asked
                "A question without a word, or of unknown words, recalls no episodes.";
            episodic fresh ask_episode_03 "ASK-EPISODE-03" recall_text::episodes::model_names
                "A name such as gpt-4o is a word to recall of episodes.";
            episodic fresh ask_episode_04 "ASK-EPISODE-04" recall_text::episodes::one_word_is_enough
                "One shared word is enough to recall episodes.";
            episodic fresh ask_episode_05 "ASK-EPISODE-05" recall_text::episodes::scripts_without_spaces
                "Recall of episodes finds words in scripts without spaces.";
            episodic fresh ask_episode_06 "ASK-EPISODE-06" recall_text::episodes::identifiers
                "Recall of episodes finds snake_case and camelCase names whole and in parts.";
            episodic fresh ask_episode_07 "ASK-EPISODE-07" recall_text::episodes::case_and_accents
                "Case and accents of any script make no difference to recall of episodes.";
            episodic fresh ask_episode_08 "ASK-EPISODE-08" recall_text::episodes::symbols_and_numbers
                "Recall of episodes finds numbers, inflected words and names such as C++.";
            episodic fresh ask_episode_09 "ASK-EPISODE-09" recall_text::episodes::behind_a_nul
                "Recall of episodes finds what stands behind U+0000.";
            episodic fresh ask_episode_10 "ASK-EPISODE-10" recall_text::episodes::two_megabytes
                "Recall finds the first and the last word of episodes of 2 MB of unique words.";
            sessions fresh ask_turn_01 "ASK-TURN-01" recall_text::turns::no_syntax
                "Any text is a question to turns: nothing in it is syntax or an error.";
            sessions fresh ask_turn_02 "ASK-TURN-02" recall_text::turns::nothing_asked
                "A question without a word, or of unknown words, recalls no turns.";
            sessions fresh ask_turn_03 "ASK-TURN-03" recall_text::turns::model_names
                "A name such as gpt-4o is a word to recall of turns.";
            sessions fresh ask_turn_04 "ASK-TURN-04" recall_text::turns::one_word_is_enough
                "One shared word is enough to recall turns.";
            sessions fresh ask_turn_05 "ASK-TURN-05" recall_text::turns::scripts_without_spaces
                "Recall of turns finds words in scripts without spaces.";
            sessions fresh ask_turn_06 "ASK-TURN-06" recall_text::turns::identifiers
                "Recall of turns finds snake_case and camelCase names whole and in parts.";
            sessions fresh ask_turn_07 "ASK-TURN-07" recall_text::turns::case_and_accents
                "Case and accents of any script make no difference to recall of turns.";
            sessions fresh ask_turn_08 "ASK-TURN-08" recall_text::turns::symbols_and_numbers
                "Recall of turns finds numbers, inflected words and names such as C++.";
            sessions fresh ask_turn_09 "ASK-TURN-09" recall_text::turns::behind_a_nul
                "Recall of turns finds what stands behind U+0000.";
            sessions fresh ask_turn_10 "ASK-TURN-10" recall_text::turns::two_megabytes
                "Recall finds the first and the last word of turns of 2 MB of unique words.";
            reflective fresh ask_note_01 "ASK-NOTE-01" recall_text::notes::no_syntax
                "Any text is a question to notes: nothing in it is syntax or an error.";
            reflective fresh ask_note_02 "ASK-NOTE-02" recall_text::notes::nothing_asked
                "A question without a word, or of unknown words, recalls no notes.";
            reflective fresh ask_note_03 "ASK-NOTE-03" recall_text::notes::model_names
                "A name such as gpt-4o is a word to recall of notes.";
            reflective fresh ask_note_04 "ASK-NOTE-04" recall_text::notes::one_word_is_enough
                "One shared word is enough to recall notes.";
            reflective fresh ask_note_05 "ASK-NOTE-05" recall_text::notes::scripts_without_spaces
                "Recall of notes finds words in scripts without spaces.";
            reflective fresh ask_note_06 "ASK-NOTE-06" recall_text::notes::identifiers
                "Recall of notes finds snake_case and camelCase names whole and in parts.";
            reflective fresh ask_note_07 "ASK-NOTE-07" recall_text::notes::case_and_accents
                "Case and accents of any script make no difference to recall of notes.";
            reflective fresh ask_note_08 "ASK-NOTE-08" recall_text::notes::symbols_and_numbers
                "Recall of notes finds numbers, inflected words and names such as C++.";
            reflective fresh ask_note_09 "ASK-NOTE-09" recall_text::notes::behind_a_nul
                "Recall of notes finds what stands behind U+0000.";
            reflective fresh ask_note_10 "ASK-NOTE-10" recall_text::notes::two_megabytes
                "Recall finds the first and the last word of notes of 2 MB of unique words.";
            sessions fresh find_text_01 "FIND-TEXT-01" find::wildcards_are_letters
                "Find takes every character literally: there are no wildcards.";
            sessions fresh find_text_02 "FIND-TEXT-02" find::inside_of_words
                "Find looks inside of words, and takes spaces literally.";
            sessions fresh find_text_03 "FIND-TEXT-03" find::case_is_folded
                "Find folds the case of every script, and not its accents.";
            sessions fresh find_text_04 "FIND-TEXT-04" find::nul_is_a_letter
                "Find looks for U+0000 and behind it.";
            sessions fresh find_text_05 "FIND-TEXT-05" find::newest_first
                "Turns found come newest first, ties by insertion.";
            sessions fresh find_text_06 "FIND-TEXT-06" find::at_most_limit
                "Find gives the newest limit turns, 10 if no limit is given.";
            sessions fresh find_text_07 "FIND-TEXT-07" find::of_a_role
                "Find of a role gives turns of exactly this role, up to the limit.";
            sessions fresh find_text_08 "FIND-TEXT-08" find::what_is_there_now
                "Find gives what is there now: a deleted turn is not, one put back is.";
            sessions fresh find_text_09 "FIND-TEXT-09" find::empty_is_refused
                "Finding an empty text is InvalidArgument.";
            sessions fresh find_text_10 "FIND-TEXT-10" find::long_texts
                "Find takes texts of any length.";
            sessions fresh filter_turn_01 "FILTER-TURN-01" filters::turns_found
                "Find of every combination of workspace, role and limit gives what passes all of them.";
            sessions fresh filter_turn_02 "FILTER-TURN-02" filters::turns_recalled
                "Recall of turns under every combination of its filters gives what passes all of them.";
            episodic fresh filter_episode_01 "FILTER-EPISODE-01" filters::episodes_recalled
                "Recall of episodes under every combination of its filters gives what passes all of them.";
            episodic fresh filter_episode_02 "FILTER-EPISODE-02" filters::episodes_listed
                "A listing of episodes of every combination of workspace, open or not and limit gives what passes all of them.";
            reflective fresh filter_note_01 "FILTER-NOTE-01" filters::notes_recalled
                "Recall of notes under every combination of its filters gives what passes all of them.";
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
            episodic_reflective fresh note_source_02 "NOTE-SOURCE-02" notes::foreign_source
                "Every source of a note must exist in the note's workspace.";
            episodic_reflective fresh note_source_03 "NOTE-SOURCE-03" notes::source_order
                "A note's sources are in the caller's order.";
            episodic_reflective fresh note_source_04 "NOTE-SOURCE-04" notes::deleted_source
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
            sessions fresh fidelity_empty_01 "FIDELITY-EMPTY-01" fidelity::empty_is_not_absent
                "An empty text is not an absent one, nor the other way round, in any field of sessions and turns.";
            sessions reopen fidelity_empty_02 "FIDELITY-EMPTY-02" fidelity::empty_is_not_absent_after_reopening
                "An empty text is not an absent one, nor the other way round, after reopening.";
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
            any fresh stats_bytes_01 "STATS-BYTES-01" upkeep::bytes_are_the_stores
                "Statistics of a workspace tell no bytes, and of one without records nothing.";
            any fresh compact_keep_01 "COMPACT-KEEP-01" upkeep::compacted
                "After compact all records are there, in their order.";
            episodic fresh compact_keep_02 "COMPACT-KEEP-02" upkeep::order_after_compact
                "After compact what is new still comes last, and cursors go on.";
            sessions fresh compact_keep_03 "COMPACT-KEEP-03" upkeep::indexes_after_compact
                "After compact no index is used again.";
            reflective fresh compact_keep_04 "COMPACT-KEEP-04" upkeep::versions_after_compact
                "After compact versions and chains go on.";
            any fresh compact_keep_05 "COMPACT-KEEP-05" upkeep::receipts_after_compact
                "After compact keys are honoured.";
            any fresh compact_keep_06 "COMPACT-KEEP-06" upkeep::origins_after_compact
                "After compact a retry by id is known, though the record has changed since.";
            any reopen compact_keep_07 "COMPACT-KEEP-07" upkeep::reopened_after_compact
                "After compact and reopening all records are there, and retries are known.";
            any fresh compact_wipe_01 "COMPACT-WIPE-01" upkeep::wiped
                "After compact no file in the store's folder holds the text of deleted records.";
            any fresh batch_atomic_01 "BATCH-ATOMIC-01" batches::refused_leaves_nothing
                "A batch with a refused op stores nothing, and the store goes on as if it had not been.";
            any fresh batch_atomic_02 "BATCH-ATOMIC-02" batches::error_names_position
                "The error that refuses a batch names the position of the refused op, counted from 0, under `op`.";
            any fresh batch_outcome_01 "BATCH-OUTCOME-01" batches::one_outcome_an_op
                "A receipt has one outcome an op, in order: the record as it is stored.";
            any fresh batch_outcome_02 "BATCH-OUTCOME-02" batches::empty_batch
                "An empty batch is committed, with no outcome.";
            any fresh batch_prepared_01 "BATCH-PREPARED-01" retries::prepared_before
                "A batch that was prepared before is committed like any other, and is known by its key.";
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
            episodic_reflective fresh retry_id_07 "RETRY-ID-07" retries::note_without_its_source_again
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
            any fresh restore_record_05 "RESTORE-RECORD-05" restore::told_apart
                "Restoring tells whether the record is new, or was there, as it is or changed since.";
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
            any damage damage_read_01 "DAMAGE-READ-01" damage::by_id
                "A record that cannot be decoded is Corrupt to a read by id, which names it.";
            any damage damage_list_01 "DAMAGE-LIST-01" damage::in_listings
                "A listing that meets a record which cannot be decoded is Corrupt, never a shorter list.";
            any damage damage_scan_01 "DAMAGE-SCAN-01" damage::in_scans
                "A scan that meets a record which cannot be decoded is Corrupt, never a shorter list.";
            any damage damage_find_01 "DAMAGE-FIND-01" damage::in_what_is_found
                "Recall and find that meet a record which cannot be decoded are Corrupt, never a shorter list.";
            any damage damage_beside_01 "DAMAGE-BESIDE-01" damage::beside
                "Beside a record that cannot be decoded the others can be read: by id, and in other sessions and workspaces.";
            any damage damage_commit_01 "DAMAGE-COMMIT-01" damage::in_commits
                "A batch that needs a record which cannot be decoded is Corrupt and stores nothing; others are committed.";
            any fresh verify_sound_01 "VERIFY-SOUND-01" damage::verified_sound
                "Verify finds nothing in a sound store, and counts what it looked at.";
            any damage verify_damage_01 "VERIFY-DAMAGE-01" damage::verified
                "Verify tells of each kind with a record that cannot be decoded, and goes on.";
            sessions damage verify_count_01 "VERIFY-COUNT-01" damage::verified_counts
                "Verify names each session whose counts, total, next indexes or last_active contradict its turns and steps.";
            reflective damage verify_chain_01 "VERIFY-CHAIN-01" damage::verified_chains
                "Verify names the first broken record of an audit chain.";
            any fresh repair_sound_01 "REPAIR-SOUND-01" damage::repaired_sound
                "A repair of a sound store changes nothing.";
            sessions damage repair_count_01 "REPAIR-COUNT-01" damage::repaired_counts
                "A repair sets counts, total, next indexes and last_active of sessions right, loses no record, and leaves the store sound.";
            any damage repair_damage_01 "REPAIR-DAMAGE-01" damage::repaired_damage
                "A repair neither drops nor hides a record that cannot be decoded, and leaves the others.";
            any copy backup_copy_01 "BACKUP-COPY-01" backup::copied
                "A copy that backup wrote opens as the store was: records and their order, indexes, versions, chains, retries.";
            any copy backup_copy_02 "BACKUP-COPY-02" backup::copied_meanwhile
                "A copy that backup wrote among writers is of one moment, with all that was committed before.";
            any copy backup_path_01 "BACKUP-PATH-01" backup::taken_paths
                "A path where something is already is Conflict to backup, and what is there stays as it is.";
            any copy backup_fail_01 "BACKUP-FAIL-01" backup::failed_backups
                "A backup that fails leaves no file.";
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
            episodic fresh writers_recall_01 "WRITERS-RECALL-01" writers::found_as_they_are
                "What many writers change or delete as soon as it is there is recalled as it is then.";
            episodic second_handle writers_recall_02 "WRITERS-RECALL-02" writers::found_as_they_are_on_two_handles
                "What many writers on two handles change or delete as soon as it is there is recalled as it is then.";
            any second_handle writers_open_01 "WRITERS-OPEN-01" writers::opening_at_once
                "Many may open and write one new store at once.";
            sessions fresh one_op_01 "ONE-OP-01" one_ops::sessions
                "Each call of sessions that does one op does what the op does in a batch: the same answer, the same refusal, the same records.";
            episodic fresh one_op_02 "ONE-OP-02" one_ops::episodes
                "Each call of episodes that does one op does what the op does in a batch: the same answer, the same refusal, the same records.";
            reflective fresh one_op_03 "ONE-OP-03" one_ops::reflections
                "Each call of notes, state and audit that does one op does what the op does in a batch: the same answer, the same refusal, the same records.";
            any fresh one_op_04 "ONE-OP-04" one_ops::any_op
                "`commit_one` does what the op does in a batch: the same answer, the same refusal, the same records.";
            any fresh feed_order_01 "FEED-ORDER-01" feed::commits_in_order
                "A feed tells the receipts of this handle's commits from its subscription on, in commit order, and no refusals.";
            sessions fresh feed_order_02 "FEED-ORDER-02" feed::commits_in_order_of_many
                "A feed tells the commits of many writers in commit order.";
            any fresh feed_order_03 "FEED-ORDER-03" feed::one_op_calls
                "A feed tells the calls that do one op like any commit.";
            any second_handle feed_handle_01 "FEED-HANDLE-01" feed::own_commits_only
                "A feed tells the commits of its handle and not those of others.";
            any fresh feed_missed_01 "FEED-MISSED-01" feed::slow_subscribers
                "A slow subscriber is told how many commits it missed.";
            any fresh feed_end_01 "FEED-END-01" feed::the_end
                "A feed ends when the handle is closed and all has been told, also for one who waits.";
            any fresh info_kinds_01 "INFO-KINDS-01" info::kinds_are_those_of_the_parts
                "`info` names the kinds of records that the handle's parts keep, each once.";
            any fresh info_durability_01 "INFO-DURABILITY-01" info::durability_shows
                "`info` says Volatile of a store that cannot be reopened, and of no other.";
            any fresh info_sharing_01 "INFO-SHARING-01" info::sharing_shows
                "`info` says Handle of a store that has no second handle, and of no other.";
            any fresh close_handle_01 "CLOSE-HANDLE-01" closing::closing_twice
                "Closing twice is fine.";
            any fresh close_handle_02 "CLOSE-HANDLE-02" closing::later_calls_are_closed
                "Every call after close is Closed.";
            any reopen close_handle_03 "CLOSE-HANDLE-03" closing::accepted_batches_are_finished
                "Close finishes the batches that were accepted; one that is refused as Closed is not stored.";
        }
    };
}

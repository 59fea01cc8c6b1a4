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
        }
    };
}

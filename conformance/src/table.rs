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
        }
    };
}

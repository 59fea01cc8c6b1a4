//! The checker accepts what can have happened and nothing else.

use memkeep_core::Expected;

use super::{
    checker::check,
    index::{self, TurnIndexes},
    object::{Made, Object},
    state::{Answer, Call, StateKeys},
};

fn history<O: Object>(calls: Vec<(u64, u64, O::Call, O::Answer)>) -> Result<(), String> {
    let made = |(began, ended, call, answer)| Made::<O> { call, answer, began, ended };
    check(&calls.into_iter().map(made).collect::<Vec<_>>())
}

fn put(value: u64) -> Call {
    Call::Put { key: 0, value, expected: Expected::Any }
}

fn swap(value: u64, version: u64) -> Call {
    Call::Put { key: 0, value, expected: Expected::Version(version) }
}

fn get() -> Call {
    Call::Get { key: 0 }
}

#[test]
fn one_after_the_other() {
    let calls = || {
        vec![
            (0, 1, put(7), Answer::Version(1)),
            (2, 3, get(), Answer::Entry(Some((7, 1)))),
            (4, 5, swap(8, 1), Answer::Version(2)),
            (6, 7, swap(9, 1), Answer::Conflict),
            (8, 9, Call::Delete { key: 0 }, Answer::Existed(true)),
            (10, 11, put(9), Answer::Version(3)),
        ]
    };
    assert_eq!(history::<StateKeys>(calls()), Ok(()));
    let mut version_reset = calls();
    version_reset[5].3 = Answer::Version(1);
    assert!(history::<StateKeys>(version_reset).is_err());
}

#[test]
fn overlapping_calls_may_happen_in_any_order() {
    // The read that began last saw nothing yet: it may have happened first.
    let calls = vec![
        (0, 5, put(7), Answer::Version(1)),
        (1, 4, put(8), Answer::Version(2)),
        (2, 3, get(), Answer::Entry(None)),
        (6, 7, get(), Answer::Entry(Some((8, 2)))),
    ];
    assert_eq!(history::<StateKeys>(calls), Ok(()));
}

#[test]
fn a_read_after_the_end_sees_the_write() {
    let calls = vec![(0, 1, put(7), Answer::Version(1)), (2, 3, get(), Answer::Entry(None))];
    let why = history::<StateKeys>(calls).unwrap_err();
    assert!(why.contains("<- none of these can be next"), "{why}");
}

#[test]
fn what_was_seen_is_not_unseen() {
    // Both reads overlap the write, but the second began after the first had seen it.
    let calls = vec![
        (0, 9, put(7), Answer::Version(1)),
        (1, 2, get(), Answer::Entry(Some((7, 1)))),
        (3, 4, get(), Answer::Entry(None)),
    ];
    assert!(history::<StateKeys>(calls).is_err());
}

#[test]
fn two_holders_of_one_version_do_not_both_win() {
    let calls = vec![
        (0, 1, put(7), Answer::Version(1)),
        (2, 5, swap(8, 1), Answer::Version(2)),
        (3, 4, swap(9, 1), Answer::Version(2)),
    ];
    assert!(history::<StateKeys>(calls).is_err());
}

#[test]
fn a_listing_sees_both_puts_of_a_batch_or_neither() {
    let torn = Answer::Entries([Some((7, 1)), None]);
    let calls = |seen| {
        vec![(0, 3, Call::PutBoth { value: 7 }, Answer::Versions([1, 1])), (1, 2, Call::List, seen)]
    };
    assert_eq!(history::<StateKeys>(calls(Answer::Entries([None, None]))), Ok(()));
    assert_eq!(history::<StateKeys>(calls(Answer::Entries([Some((7, 1)); 2]))), Ok(()));
    assert!(history::<StateKeys>(calls(torn)).is_err());
}

#[test]
fn indexes_are_neither_given_twice_nor_left_out() {
    use index::{Answer, Call};
    let calls = |second, third| {
        vec![
            (0, 4, Call::Record(0), Answer::Indexes(vec![0])),
            (1, 3, Call::Record(1), Answer::Indexes(vec![second])),
            (5, 6, Call::Delete(1), Answer::Existed(true)),
            (7, 8, Call::Record(2), Answer::Indexes(vec![third])),
        ]
    };
    assert_eq!(history::<TurnIndexes>(calls(1, 2)), Ok(()));
    assert!(history::<TurnIndexes>(calls(0, 1)).is_err());
    assert!(history::<TurnIndexes>(calls(2, 3)).is_err());
    assert!(history::<TurnIndexes>(calls(1, 1)).is_err());
}

#[test]
fn long_histories_are_checked_in_time() {
    // Five tasks at a time whose reads saw each other's writes in all orders.
    let calls = (0..200_u64).map(|n| {
        let began = n / 5 * 20 + n % 5;
        (began, began + 10, put(n), Answer::Version(n / 5 * 5 + 5 - n % 5))
    });
    assert_eq!(history::<StateKeys>(calls.collect()), Ok(()));
}

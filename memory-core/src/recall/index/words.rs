use caseless::Caseless as _;

use crate::recall::grams::{for_each_gram, is_gram_char, split_run};

/// Calls `emit` with the words by which a text is found: as [`Substring`](crate::recall::Substring)
/// folds it, its stretches of letters and digits; of scripts without spaces, two characters each. So
/// where one text is in another, each of its words is in one of the other's.
pub(super) fn for_each_word(text: &str, emit: &mut impl FnMut(&str)) {
    if text.is_ascii() {
        let folded = text.to_ascii_lowercase();
        let words = folded.split(|c: char| !c.is_ascii_alphanumeric());
        return words.filter(|word| !word.is_empty()).for_each(emit);
    }
    let folded: String = text.chars().default_case_fold().collect();
    for word in folded.split(|c: char| !c.is_alphanumeric() && !is_gram_char(c)) {
        let mut rest = word;
        while !rest.is_empty() {
            let (grams, after) = split_run(rest, true);
            for_each_gram(grams, &mut *emit);
            let (plain, after) = split_run(after, false);
            if !plain.is_empty() {
                emit(plain);
            }
            rest = after;
        }
    }
}

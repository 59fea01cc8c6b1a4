//! Scripts whose words cannot be told apart by spaces are matched by two-character grams.

/// Whether `c` belongs to a script that is cut into grams: Han, kana, Bopomofo, Thai, Lao,
/// Khmer, Myanmar, Tai; and Hangul, which has spaces but joins particles to nouns, so that a
/// word as typed in a query is rarely the word as written.
pub(super) fn is_gram_char(c: char) -> bool {
    // Most text is below all of these.
    c >= '\u{e01}'
        && matches!(c,
            '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}'          // Thai
            | '\u{e81}'..='\u{ece}' | '\u{edc}'..='\u{edf}'        // Lao
            | '\u{1000}'..='\u{103f}' | '\u{1050}'..='\u{108f}' | '\u{109a}'..='\u{109d}'
            | '\u{a9e0}'..='\u{a9ef}' | '\u{a9fa}'..='\u{a9fe}' | '\u{aa60}'..='\u{aa7f}' // Myanmar
            | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{a960}'..='\u{a97c}'
            | '\u{ac00}'..='\u{d7fb}' | '\u{ffa1}'..='\u{ffdc}'    // Hangul
            | '\u{1780}'..='\u{17d3}' | '\u{17dc}' | '\u{17dd}'    // Khmer
            | '\u{1950}'..='\u{19c9}' | '\u{1a20}'..='\u{1a7c}' | '\u{aa80}'..='\u{aadd}' // Tai
            | '\u{2e80}'..='\u{2fd5}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}'
            | '\u{3031}'..='\u{3035}' | '\u{3038}'..='\u{303b}'
            | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'                            // Han
            | '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}'
            | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' | '\u{1aff0}'..='\u{1b16f}' // kana
            | '\u{3105}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}'    // Bopomofo
        )
}

/// Calls `emit` with every two neighbouring characters of `run`; with the character itself if
/// there is only one.
pub(super) fn for_each_gram<'a>(run: &'a str, mut emit: impl FnMut(&'a str)) {
    let mut starts = run.char_indices().map(|(at, _)| at);
    let Some(mut first) = starts.next() else {
        return;
    };
    let Some(mut second) = starts.next() else {
        return emit(run);
    };
    for third in starts.chain([run.len()]) {
        emit(&run[first..third]);
        (first, second) = (second, third);
    }
}

/// Splits `text` before the first character for which [`is_gram_char`] is not `gram`.
pub(super) fn split_run(text: &str, gram: bool) -> (&str, &str) {
    text.split_at(text.find(|c| is_gram_char(c) != gram).unwrap_or(text.len()))
}

use caseless::Caseless as _;

/// A literal, case-insensitive substring to look for in many texts.
///
/// Both sides are compared under full Unicode case folding (`STRASSE` is in `Straße`), character
/// by character: no wildcards, no normalisation, and U+0000 is a character like any other. An
/// empty needle is in every text; a caller to whom that is an error refuses it beforehand.
///
/// Knuth-Morris-Pratt: time linear in the text whatever the needle, no allocation per text.
#[derive(Clone, Debug)]
pub struct Substring {
    needle: Vec<char>,
    /// `borders[i]`: length of the longest proper prefix of `needle[..=i]` that is its suffix.
    borders: Vec<usize>,
}

impl Substring {
    /// Prepares to look for `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let needle: Vec<char> = text.chars().default_case_fold().collect();
        let mut borders = vec![0; needle.len()];
        let mut matched = 0;
        for at in 1..needle.len() {
            matched = advance(&needle, &borders, matched, needle[at]);
            borders[at] = matched;
        }
        Self { needle, borders }
    }

    /// Whether `haystack` contains the text.
    #[must_use]
    pub fn matches(&self, haystack: &str) -> bool {
        if haystack.is_ascii() {
            self.found_in(haystack.bytes().map(|b| char::from(b.to_ascii_lowercase())))
        } else {
            self.found_in(haystack.chars().default_case_fold())
        }
    }

    fn found_in(&self, folded: impl Iterator<Item = char>) -> bool {
        let mut matched = 0;
        if self.needle.is_empty() {
            return true;
        }
        for c in folded {
            matched = advance(&self.needle, &self.borders, matched, c);
            if matched == self.needle.len() {
                return true;
            }
        }
        false
    }
}

/// The length of the longest prefix of `needle` that ends with `next`, given that `matched`
/// characters (fewer than the needle has) ended before it.
fn advance(needle: &[char], borders: &[usize], mut matched: usize, next: char) -> usize {
    while matched > 0 && needle[matched] != next {
        matched = borders[matched - 1];
    }
    matched + usize::from(needle[matched] == next)
}

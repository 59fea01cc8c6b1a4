use std::time::Instant;

/// What is known of the work on the indexes.
pub(super) struct Tending {
    pub(super) outlook: Outlook,
    /// When it was last looked for what there is to do.
    pub(super) looked: Instant,
    /// Whether there has been nothing else to do for some time.
    pub(super) is_idle: bool,
    /// Whether it is to be done here once, since not all that was worked out aside was written: so nobody
    /// who changes what is new again and again keeps it from ever being indexed.
    pub(super) is_here: bool,
}

#[derive(PartialEq, Eq)]
pub(super) enum Outlook {
    Unknown,
    /// There was something to do when it was last looked for.
    More,
    /// There is nothing to do until the next commit.
    Tidy,
}

impl Default for Tending {
    fn default() -> Self {
        let looked = Instant::now();
        Self { outlook: Outlook::Unknown, looked, is_idle: false, is_here: false }
    }
}

use std::str::FromStr;

use clap::ValueEnum;

/// What of the things that were not synced is lost when the power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Loss {
    /// All of it.
    Everything,
    /// Nothing: the program was killed, or the disk was quick.
    Nothing,
    /// Each write, size and name by lot.
    Writes,
    /// Each sector of each write, size and name by lot.
    Sectors,
    /// Of the last write some sectors, by lot.
    LastTorn,
    /// All but the last few writes: the disk worked from the end.
    Earliest,
    /// The data that was written past the end of a file, of which the size is kept.
    Appended,
}

impl Loss {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Everything,
        Self::Nothing,
        Self::Writes,
        Self::Sectors,
        Self::LastTorn,
        Self::Earliest,
        Self::Appended,
    ];

    /// The name that the command knows it by.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl FromStr for Loss {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        <Self as ValueEnum>::from_str(text, false)
    }
}

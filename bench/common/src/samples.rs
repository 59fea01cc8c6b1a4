use std::time::Duration;

/// How long the calls of one kind took, by rounds. Figures are medians over the rounds, so that what
/// disturbs one round does not move them.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    rounds: Vec<Round>,
}

#[derive(Clone, Debug)]
struct Round {
    p50: f64,
    p99: f64,
    per_second: f64,
}

impl Samples {
    /// None so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a round: each call's time, and how many `items` they dealt with in all of `elapsed`. A
    /// round without calls says nothing.
    #[allow(clippy::cast_precision_loss)]
    pub fn round(&mut self, mut calls: Vec<Duration>, items: usize, elapsed: Duration) {
        if calls.is_empty() {
            return;
        }
        calls.sort_unstable();
        let at = |share: usize| micros(calls[(calls.len() - 1) * share / 100]);
        let per_second = items as f64 / elapsed.as_secs_f64();
        self.rounds.push(Round { p50: at(50), p99: at(99), per_second });
    }

    /// The time of a call that half of them do not exceed, in microseconds.
    pub fn p50_us(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.p50))
    }

    /// The time of a call that 99 of 100 do not exceed, in microseconds.
    pub fn p99_us(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.p99))
    }

    /// Items a second.
    pub fn per_second(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.per_second))
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The middle one of some values, the upper of two; NaN of none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_medians_over_rounds() {
        let mut samples = Samples::new();
        for (millis, items) in [(1, 10), (100, 20), (2, 30)] {
            let calls = (1..=100).map(|n| Duration::from_millis(n * millis)).collect();
            samples.round(calls, items, Duration::from_secs(2));
        }
        samples.round(Vec::new(), 0, Duration::ZERO);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(near(samples.p50_us(), 100_000.0), "{}", samples.p50_us());
        assert!(near(samples.p99_us(), 198_000.0), "{}", samples.p99_us());
        assert!(near(samples.per_second(), 10.0), "{}", samples.per_second());
    }
}

use super::conversation::Question;
use crate::report::Row;

/// How many turns are asked for.
pub(super) const K: usize = 10;
const CUTS: [usize; 3] = [1, 5, K];

/// What a scorer found, over some questions.
#[derive(Clone, Default)]
pub(super) struct Tally {
    questions: u32,
    any: [u32; CUTS.len()],
    /// Sums of the share of the evidence that is among the first ones.
    recall: [f64; CUTS.len()],
    /// The sum of 1 / the place of the first evidence, from 1, among the first ten.
    reciprocal: f64,
}

impl Tally {
    /// Adds a question and the turns that were found, best first.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn add(&mut self, question: &Question, found: &[String]) {
        let is_evidence = |turn: &String| question.evidence.contains(turn);
        self.questions += 1;
        for (at, cut) in CUTS.into_iter().enumerate() {
            let hits = found.iter().take(cut).filter(|turn| is_evidence(turn)).count();
            self.any[at] += u32::from(hits > 0);
            self.recall[at] += hits as f64 / question.evidence.len() as f64;
        }
        if let Some(place) = found.iter().take(K).position(is_evidence) {
            self.reciprocal += 1.0 / (place + 1) as f64;
        }
    }

    /// Adds the figures to a row; shares in percent.
    pub(super) fn row(&self, row: Row) -> Row {
        let percent = |sum: f64| sum * 100.0 / f64::from(self.questions);
        let [any_1, any_5, any_10] = self.any.map(|any| percent(f64::from(any)));
        let [recall_1, recall_5, recall_10] = self.recall.map(percent);
        row.with("questions", self.questions)
            .figure("any@1", any_1, 1)
            .figure("any@5", any_5, 1)
            .figure("any@10", any_10, 1)
            .figure("recall@1", recall_1, 1)
            .figure("recall@5", recall_5, 1)
            .figure("recall@10", recall_10, 1)
            .figure("mrr@10", self.reciprocal / f64::from(self.questions), 3)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_those_of_the_places_of_the_evidence() {
        let question = |evidence: &[&str]| Question {
            text: String::new(),
            category: 1,
            evidence: evidence.iter().copied().map(str::to_owned).collect(),
        };
        let found: Vec<String> = (1..=10).map(|n| format!("D1:{n}")).collect();
        let mut tally = Tally::default();
        tally.add(&question(&["D1:1", "D1:7"]), &found);
        tally.add(&question(&["D1:4", "D2:1"]), &found);
        tally.add(&question(&["D2:2"]), &found);
        tally.add(&question(&["D1:10"]), &found);
        let expected = json!({
            "questions": 4,
            "any@1": 25.0, "any@5": 50.0, "any@10": 75.0,
            // (1/2), (1/2 + 1/2), (2/2 + 1/2 + 1) of 4.
            "recall@1": 12.5, "recall@5": 25.0, "recall@10": 62.5,
            // (1 + 1/4 + 1/10) of 4.
            "mrr@10": 0.338,
        });
        assert_eq!(tally.row(Row::new()).into_json(), expected);
    }
}

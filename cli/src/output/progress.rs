use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A sign of life on stderr while long work goes on; nothing where stderr is no terminal. It goes
/// with the value.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Shows that `what` is under way: text that may hold keys of indicatif's templates.
    pub(crate) fn new(what: &str) -> Self {
        let style = ProgressStyle::with_template(&format!("{{spinner}} {what}"))
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style);
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Self(bar)
    }

    /// What the work moves on.
    pub(crate) fn bar(&self) -> ProgressBar {
        self.0.clone()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

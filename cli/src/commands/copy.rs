use clap::Args;
use memkeep::{CopyOptions, CopyReport, CopyStage};

use crate::{
    context::{self, Context},
    failure::Failure,
    files,
    output::{Progress, counts},
};

/// Copy everything into another store, of any backend; a copy that was ended goes on
#[derive(Args)]
pub(crate) struct Copy {
    /// The store to copy to, such as redb:agent.redb: new, empty, or with a part of this copy in it
    #[arg(long, value_name = "URL")]
    to: String,
}

impl Copy {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        context.whole_store("copy")?;
        if let Some(file) = context::file(&self.to)? {
            files::keep_off(context.file.as_deref(), &file)?;
        }
        let to = memkeep::open(&self.to).await?;
        let progress = Progress::new("{msg} {wide_bar} {human_pos}");
        let bar = progress.bar();
        let options = CopyOptions::new().progress(move |reached| {
            bar.set_message(match reached.stage {
                CopyStage::Comparing => "comparing",
                _ => "copying",
            });
            bar.set_length(reached.total);
            bar.set_position(reached.done);
        });
        let copied = memkeep::copy(&*context.store, &*to, options).await;
        let closed = to.close().await;
        let report = copied.and_then(|report| closed.map(|()| report))?;
        drop(progress);
        context.done = Some("the copy is made");
        tell(context, &report)
    }
}

fn tell(context: &mut Context, report: &CopyReport) -> Result<(), Failure> {
    let mut text = format!("copied: {}", counts::summary(&report.copied));
    if report.already_there.total() > 0 {
        text = format!("{text}\nalready there: {}", counts::summary(&report.already_there));
    }
    context.out.value(report, &text)
}

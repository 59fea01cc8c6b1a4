//! A picture of latency against size.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use plotters::prelude::*;
use serde::Deserialize;

#[derive(Args)]
pub(crate) struct Options {
    /// What `recall --json` printed, for some numbers of documents.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// The picture, an SVG file.
    #[arg(long)]
    out: PathBuf,
}

#[derive(Deserialize)]
struct Point {
    engine: String,
    scorer: String,
    records: String,
    docs: u64,
    p50_us: f64,
}

/// Microseconds by documents.
type Line = Vec<(f64, f64)>;

const SIZE: (u32, u32) = (900, 520);

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    for path in &options.runs {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        for point in serde_json::Deserializer::from_str(&text).into_iter::<Point>() {
            let Point { engine, scorer, records, docs, p50_us } = point?;
            // Turns are drawn where they are ranked as episodes are not.
            if records != "turns" || scorer == "context" {
                #[expect(clippy::cast_precision_loss, reason = "some millions")]
                lines.entry(format!("{engine}, {scorer}")).or_default().push((docs as f64, p50_us));
            }
        }
    }
    lines.values_mut().for_each(|line| line.sort_by(|a, b| a.0.total_cmp(&b.0)));
    draw(&lines, options).map_err(|why| anyhow!("the picture: {why}"))
}

fn draw(
    lines: &BTreeMap<String, Line>,
    options: &Options,
) -> Result<(), Box<dyn std::error::Error>> {
    let points = || lines.values().flatten();
    let least = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
    let (docs, micros) = (|point: &(f64, f64)| point.0, |point: &(f64, f64)| point.1);
    let area = SVGBackend::new(&options.out, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .margin_right(40)
        .caption("Top-10 recall, median", ("sans-serif", 20))
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(
            (least(docs)..most(docs)).log_scale(),
            (least(micros) / 2.0..most(micros) * 2.0).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("records")
        .y_desc("microseconds")
        .x_label_formatter(&|records| format!("{records:.0}"))
        .y_label_formatter(&|micros| format!("{micros:.0}"))
        .light_line_style(WHITE)
        .draw()?;
    for (at, (name, points)) in lines.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "some lines")]
        let color = HSLColor(at as f64 / lines.len() as f64, 0.8, 0.4);
        chart
            .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| {
                PathElement::new(vec![(x, y), (x + 16, y)], color.stroke_width(2))
            });
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .draw()?;
    area.present()?;
    Ok(())
}

//! Speed-up curves of the example programs as SVG.

use crate::plan::EXAMPLE_RANKS;
use crate::statistics::Samples;
use plotters::prelude::*;
use std::path::{Path, PathBuf};

/// One implementation's curve: ranks and serial time over parallel time.
type Curve = (String, Vec<(f64, f64)>);

/// Collects the curves of an example.
fn curves(samples: &Samples, example: &str) -> Vec<Curve> {
    let mut names: Vec<&str> =
        samples.keys().filter(|key| key.what == example).map(|key| key.who.as_str()).collect();
    names.dedup();
    let serial = format!("{example}-serial");
    let curve = |who: &str| {
        let point = |&ranks: &u64| {
            let ratio = samples.ratio((who, &serial, ranks), (who, example, ranks))?;
            Some((ranks as f64, ratio.median))
        };
        (who.to_owned(), EXAMPLE_RANKS.iter().filter_map(point).collect())
    };
    names.into_iter().map(curve).filter(|(_, points): &Curve| !points.is_empty()).collect()
}

/// Draws `FOLDER/EXAMPLE.svg`: speed-up against the serial program over ranks, a curve per implementation. Returns where
/// it is, or `None` if nothing was measured.
///
/// # Errors
/// What the drawing library or the file system says.
pub fn speed_up(samples: &Samples, example: &str, folder: &Path) -> Result<Option<PathBuf>, String> {
    let curves = curves(samples, example);
    if curves.is_empty() {
        return Ok(None);
    }
    let file = folder.join(format!("{example}.svg"));
    draw(&curves, example, &file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(Some(file))
}

fn draw(curves: &[Curve], example: &str, file: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let points = || curves.iter().flat_map(|(_, points)| points);
    let highest = points().map(|&(_, y)| y).fold(1.0, f64::max) * 1.1;
    let most = points().map(|&(x, _)| x).fold(2.0, f64::max);
    let area = SVGBackend::new(file, (720, 480)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{example}: serial time / parallel time"), ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d((1.5..most * 1.3).log_scale().base(2.0), 0.0..highest)?;
    chart.configure_mesh().x_desc("ranks").y_desc("speed-up").draw()?;
    for (index, (who, points)) in curves.iter().enumerate() {
        let color = Palette99::pick(index).to_rgba();
        chart
            .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?
            .label(who)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, color.filled())))?;
    }
    chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK).draw()?;
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_serial_over_parallel_time() {
        let mut samples = Samples::default();
        for (ranks, parallel) in [(2, 50.0), (4, 25.0)] {
            samples.add("weft", "gauss", ranks, 0, parallel);
            samples.add("weft", "gauss-serial", ranks, 0, 100.0);
        }
        assert_eq!(curves(&samples, "gauss"), [("weft".to_owned(), vec![(2.0, 2.0), (4.0, 4.0)])]);
        let folder = std::env::temp_dir().join(format!("weft-plot-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = speed_up(&samples, "gauss", &folder).unwrap().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("gauss: serial time") && text.matches("<circle").count() == 2, "{text}");
        assert_eq!(speed_up(&samples, "cannon", &folder), Ok(None));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The frontier of bytes and time as a picture and a table. A point that is chosen in either has its program shown in
//! the timeline.

use super::escape;
use crate::pareto::Point;
use crate::text;
use std::fmt::Write;

/// The picture's size in pixels, and what is left free around it for scales.
const SIZE: (f64, f64) = (720.0, 260.0);
const FREE: f64 = 48.0;

/// The section; nothing where no frontier was asked for. The program of a point is the one of this number, from
/// `first` on.
pub fn section(points: &[Point], first: usize) -> String {
    if points.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for (number, point) in points.iter().enumerate() {
        let footprint = &point.profile.footprint;
        let _ = writeln!(
            rows,
            "<tr><td><label><input type=\"radio\" name=\"program\" value=\"{}\" autocomplete=\"off\"> {}</label></td>\
             <td>{}</td><td>{}</td><td>{:.2}</td><td>{}</td></tr>",
            first + number,
            text::bytes(footprint.peak),
            text::bytes(footprint.temporaries),
            text::ratio(footprint.ratio),
            point.times,
            escape(&point.did()),
        );
    }
    format!(
        "<section aria-labelledby=\"frontier-heading\">\n<h2 id=\"frontier-heading\">What it could be made into</h2>\n{}\
         <table>\n<thead><tr><th>Peak</th><th>Temporaries</th><th>Ratio</th><th>Time</th><th>Saved by</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n<p class=\"help\">Choose a point to see its timeline. Time is estimated, over that of the \
         program as it came.</p>\n</section>",
        picture(points, first)
    )
}

/// Bytes across, from nothing to the most; time upwards, from nothing to the longest.
fn picture(points: &[Point], first: usize) -> String {
    let most = points.iter().map(|point| point.profile.footprint.peak).max().unwrap_or(1).max(1);
    let longest = points.iter().map(|point| point.times).fold(1.0, f64::max);
    let (width, height) = SIZE;
    let across = |bytes: u64| FREE + bytes as f64 / most as f64 * (width - 2.0 * FREE);
    let up = |times: f64| height - FREE + times / longest * (2.0 * FREE - height);
    let mut marks = String::new();
    for (number, point) in points.iter().enumerate() {
        let peak = point.profile.footprint.peak;
        let said = format!("{} at {:.2} times the time", text::bytes(peak), point.times);
        let _ = writeln!(
            marks,
            "<circle class=\"choice\" data-program=\"{}\" tabindex=\"0\" role=\"button\" aria-label=\"{said}\" cx=\"{:.1}\" cy=\"{:.1}\" \
             r=\"7\"><title>{said}</title></circle>",
            first + number,
            across(peak),
            up(point.times),
        );
    }
    let (left, bottom, right) = (FREE, height - FREE, width - FREE);
    format!(
        "<svg class=\"frontier\" id=\"frontier\" viewBox=\"0 0 {width} {height}\" role=\"group\" aria-label=\"Bytes and time\">\n\
         <path class=\"axis\" d=\"M{left} {FREE}V{bottom}H{right}\"/>\n\
         <text x=\"{right}\" y=\"{}\" text-anchor=\"end\">peak, up to {}</text>\n\
         <text x=\"{left}\" y=\"{}\">time, up to {longest:.2} times</text>\n{marks}</svg>\n",
        bottom + 20.0,
        text::bytes(most),
        FREE - 12.0,
    )
}

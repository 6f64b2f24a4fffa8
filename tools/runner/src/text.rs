// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Numbers and tables for people.

use std::time::Duration;

/// To which side a column goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Bytes, in the largest unit that leaves a whole part.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    // What would be rounded up to 1024 of a unit is one of the next.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A time, in the unit that suits it.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 0.9995e-3 {
        format!("{:.2} us", seconds * 1e6)
    } else if seconds < 0.9995 {
        format!("{:.3} ms", seconds * 1e3)
    } else {
        format!("{seconds:.3} s")
    }
}

/// Bytes per second; none if no time passed.
pub(crate) fn bandwidth(bytes: u64, time: Duration) -> Option<f64> {
    let seconds = time.as_secs_f64();
    (seconds > 0.0 && bytes > 0).then(|| bytes as f64 / seconds)
}

/// A bandwidth in the unit that data sheets use: 10^9 bytes per second.
pub(crate) fn gigabytes(bandwidth: Option<f64>) -> String {
    bandwidth.map_or_else(|| "-".into(), |bandwidth| format!("{:.1} GB/s", bandwidth / 1e9))
}

/// Rows as aligned columns, two blanks apart, indented by two.
pub(crate) fn table(columns: &[Align], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, align)) in row.iter().zip(columns).enumerate() {
            let padding = " ".repeat(width(column).unwrap_or(0) - cell.chars().count());
            let padded = match align {
                Align::Left => format!("{cell}{padding}"),
                Align::Right => format!("{padding}{cell}"),
            };
            line.push_str("  ");
            line.push_str(&padded);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_units() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes((1 << 20) - 1), "1.0 MiB");
        assert_eq!(bytes(u64::MAX), "16384.0 PiB");
        assert_eq!(time(Duration::from_nanos(1500)), "1.50 us");
        assert_eq!(time(Duration::from_micros(2500)), "2.500 ms");
        assert_eq!(time(Duration::from_secs(90)), "90.000 s");
        assert_eq!(gigabytes(bandwidth(3_000_000_000, Duration::from_secs(2))), "1.5 GB/s");
        assert_eq!(gigabytes(bandwidth(1, Duration::ZERO)), "-");
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [vec!["a".into(), "1".into()], vec!["bcd".into(), "22".into()]];
        assert_eq!(table(&[Align::Left, Align::Right], rows), "  a     1\n  bcd  22\n");
    }
}

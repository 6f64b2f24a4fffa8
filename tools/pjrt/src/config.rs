// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What users say, in variables of the environment: read once for each plugin, when it is loaded.

use crate::decide::Mode;
use slimhlo_passes::Bytes;
use slimhlo_passes::framework::OptionValue;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The plugin that the layer is around.
pub const PLUGIN: &str = "SLIMHLO_PJRT_PLUGIN";
/// When programs are optimized.
pub const MODE: &str = "SLIMHLO_PJRT_MODE";
/// What a program may take on a device.
pub const LIMIT: &str = "SLIMHLO_MEMORY_LIMIT";
/// How long slimhlo may take for a program, in seconds.
pub const TIME: &str = "SLIMHLO_TIME_LIMIT";
/// Programs that take less are left alone.
pub const THRESHOLD: &str = "SLIMHLO_THRESHOLD";
/// Where to say what was done.
pub const SUMMARY: &str = "SLIMHLO_SUMMARY";
/// Where to keep modules.
pub const DUMP: &str = "SLIMHLO_DUMP";
/// JAX's: the share of a device's memory that its allocator takes.
const FRACTION: &str = "XLA_PYTHON_CLIENT_MEM_FRACTION";

/// Where a summary goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summary {
    /// Nowhere.
    None,
    /// Lines for people on standard error.
    Stderr,
    /// A line of JSON per program at the end of a file.
    File(PathBuf),
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The inner plugin's file.
    pub plugin: PathBuf,
    /// When programs are optimized.
    pub mode: Mode,
    /// What a program may take on a device, if the user states it.
    pub limit: Option<u64>,
    /// How long slimhlo may take for a program.
    pub time: Duration,
    /// Programs whose peak, by slimhlo's model, is smaller, in bytes, are left alone.
    pub threshold: u64,
    /// Where a summary goes.
    pub summary: Summary,
    /// A folder for modules before and after.
    pub dump: Option<PathBuf>,
    /// The share of a device's memory that programs get, where the device itself does not say.
    pub fraction: f64,
}

impl Config {
    /// By what `variable` answers.
    ///
    /// # Errors
    /// Names the variable that is missing or makes no sense.
    pub fn read(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        // As for a shell: what is empty is not there.
        let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let text = |name: &str| path(name).map(|value| value.to_string_lossy().trim().to_owned());
        let plugin = path(PLUGIN).ok_or_else(|| {
            format!(
                "{PLUGIN} is not set: it names the PJRT plugin that slimhlo is to be around, libtpu.so say"
            )
        })?;
        let mode = text(MODE).map_or(Ok(Mode::Needed), |name| {
            let found = Mode::ALL.iter().find(|(known, _)| *known == name);
            found.map(|(_, mode)| *mode).ok_or_else(|| {
                format!("{MODE}={name} is none of {}", Mode::ALL.map(|(name, _)| name).join(", "))
            })
        })?;
        let bytes = |name: &str| {
            let parse = |text: String| Bytes::parse(&text).map_err(|error| format!("{name}: {error}"));
            text(name).map(parse).transpose().map(|bytes| bytes.map(|Bytes(count)| count))
        };
        let time = text(TIME).map_or(Ok(DEFAULT_TIME), |seconds| {
            let parsed = seconds.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            parsed.ok_or_else(|| format!("{TIME}={seconds} is not a number of seconds"))
        })?;
        let summary = match text(SUMMARY).as_deref() {
            None | Some("0") => Summary::None,
            Some("1") => Summary::Stderr,
            Some(_) => path(SUMMARY).map_or(Summary::None, Summary::File),
        };
        Ok(Self {
            plugin,
            mode,
            limit: bytes(LIMIT)?,
            time,
            threshold: bytes(THRESHOLD)?.unwrap_or(DEFAULT_THRESHOLD),
            summary,
            dump: path(DUMP),
            // JAX has the last word on what is no fraction.
            fraction: text(FRACTION)
                .and_then(|fraction| fraction.parse().ok())
                .filter(|fraction| (0.0..=1.0).contains(fraction))
                .unwrap_or(DEFAULT_FRACTION),
        })
    }

    /// What the platform's version says of slimhlo, on one line, so that executables compiled with other
    /// options, for a device with other memory, or without slimhlo, are not taken from a cache. `limit` is what programs may
    /// take. It has no parentheses, which JAX looks for.
    pub fn signature(&self, limit: Option<u64>) -> String {
        let limit = limit.map_or_else(|| "unknown".into(), |limit| limit.to_string());
        format!(
            "slimhlo/{} mode={} limit={limit} threshold={} time={}s",
            env!("CARGO_PKG_VERSION"),
            self.mode.name(),
            self.threshold,
            self.time.as_secs_f64(),
        )
    }
}

/// Programs of 20,000 ops take a quarter of it.
const DEFAULT_TIME: Duration = Duration::from_secs(120);
/// What is smaller is nobody's trouble.
const DEFAULT_THRESHOLD: u64 = 16 << 20;
/// What JAX's allocator takes unless told otherwise.
const DEFAULT_FRACTION: f64 = 0.75;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Config, String> {
        Config::read(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn defaults() {
        let config = read(&[(PLUGIN, "/p.so")]).expect("a plugin is all it takes");
        assert_eq!(config.plugin, PathBuf::from("/p.so"));
        assert_eq!((config.mode, config.limit, config.summary), (Mode::Needed, None, Summary::None));
        assert!((config.fraction - 0.75).abs() < f64::EPSILON);
    }

    #[test]
    fn values() {
        let config = read(&[
            (PLUGIN, "/p.so"),
            (MODE, "verify"),
            (LIMIT, "1.5GiB"),
            (TIME, "0.5"),
            (THRESHOLD, "0"),
            (SUMMARY, "/s.json"),
            (FRACTION, "0.9"),
        ])
        .expect("all valid");
        assert_eq!((config.mode, config.limit, config.threshold), (Mode::Verify, Some(3 << 29), 0));
        assert_eq!(config.time, Duration::from_millis(500));
        assert_eq!(config.summary, Summary::File("/s.json".into()));
        assert_eq!(
            config.signature(config.limit),
            concat!(
                "slimhlo/",
                env!("CARGO_PKG_VERSION"),
                " mode=verify limit=1610612736 threshold=0 time=0.5s"
            )
        );
    }

    #[test]
    fn nonsense_is_named() {
        for (name, value) in [(MODE, "alway"), (LIMIT, "much"), (TIME, "-1"), (THRESHOLD, "1XB")] {
            let error = read(&[(PLUGIN, "/p.so"), (name, value)]).expect_err("nonsense");
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
        assert!(read(&[(PLUGIN, "")]).expect_err("empty").contains(PLUGIN));
    }
}

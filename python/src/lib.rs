// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo._slimhlo`: what `import slimhlo` needs of Rust. The same library is the PJRT layer: it has
//! `GetPjrtApi`, so that there is one MLIR in the wheel and not two.

mod memory;

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use slimhlo_passes::framework::OptionValue;
// The linker takes `GetPjrtApi` from here.
pub use slimhlo_pjrt::GetPjrtApi;
use slimhlo_pjrt::decide::{ATTEMPTS, Aim};
use slimhlo_pjrt::optimizer::{self, Job, Options, Outcome, Source};
use std::time::Duration;

create_exception!(
    slimhlo,
    Error,
    PyValueError,
    "A program that slimhlo cannot read or rewrite, with the diagnostic."
);

/// What was done to a module; `slimhlo.Report` in Python.
#[pyclass(frozen, get_all, name = "Report", module = "slimhlo")]
struct Report {
    /// The module's name.
    name: Option<String>,
    /// Its peak by the model, in bytes, as it came.
    before: Option<u64>,
    /// And as it is.
    after: Option<u64>,
    /// What it was to need at most, in bytes.
    limit: Option<u64>,
    /// Whether that was reached, by the model.
    fits: Option<bool>,
    /// Whether there is nothing smaller, by the model.
    is_least: bool,
    /// What stages of the pipeline took off the peak, in bytes.
    stages: Vec<(String, u64)>,
    /// Reading, rewriting and writing.
    seconds: f64,
}

/// What Python asks for: `slimhlo._options.Options`.
#[derive(FromPyObject)]
struct Wanted {
    platform: String,
    target: Option<String>,
    max_slowdown: Option<f64>,
    memory_limit: Option<String>,
    threshold: u64,
    time_limit: Option<f64>,
    counted: bool,
    without: String,
}

impl Wanted {
    /// For the pipeline: what `target` says, or else the platform's.
    fn options(&self) -> PyResult<Options> {
        let mut options = Options::for_platform(&self.platform);
        let wrong = |name: &str, error: String| PyValueError::new_err(format!("{name}: {error}"));
        if let Some(target) = &self.target {
            options.target = OptionValue::parse(target).map_err(|error| wrong("target", error))?;
        }
        if let Some(most) = self.max_slowdown {
            options.max_slowdown =
                OptionValue::parse(&most.to_string()).map_err(|error| wrong("max_slowdown", error))?;
        }
        options.counted = self.counted;
        options.without = OptionValue::parse(&self.without).map_err(|error| wrong("without", error))?;
        match &self.memory_limit {
            Some(limit) => options.with_limit(limit).map_err(|error| wrong("memory_limit", error)),
            None => Ok(options),
        }
    }
}

/// Makes a module smaller, whatever form it is in; returns it in that form, or nothing if it stays as it is.
/// Other threads of Python run meanwhile.
#[pyfunction]
fn optimize<'py>(
    py: Python<'py>,
    module: &[u8],
    options: Wanted,
) -> PyResult<(Option<Bound<'py, PyBytes>>, Report)> {
    let seconds = |given| {
        let wrong = |_| PyValueError::new_err(format!("time_limit: {given} is no number of seconds"));
        Duration::try_from_secs_f64(given).map_err(wrong)
    };
    let time = options.time_limit.map(seconds).transpose()?;
    let threshold = options.threshold;
    let options = options.options()?;
    let job =
        Job { program: Source::new(module), options, aim: Aim::Usual, threshold, time, keep_text: false };
    let (outcome, report) = py.detach(|| optimizer::run(job));
    let module = match outcome {
        Outcome::Smaller(bytes) => Some(PyBytes::new(py, &bytes)),
        Outcome::Same | Outcome::Small => None,
        Outcome::Failed(why) => return Err(Error::new_err(why)),
    };
    let (fits, is_least) = (report.fits(), report.is_least());
    let optimizer::Report { name, before, after, limit, stages, seconds, .. } = report;
    let stages = stages.into_iter().map(|(name, saved)| (name.to_owned(), saved)).collect();
    Ok((module, Report { name, before, after, limit, fits, is_least, stages, seconds }))
}

/// How often a program is made to fit a limit at most.
#[pyfunction]
fn attempts() -> usize {
    ATTEMPTS
}

/// The module of Python.
#[pymodule]
fn _slimhlo(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<Error>())?;
    module.add_class::<Report>()?;
    module.add_class::<memory::Memory>()?;
    module.add_class::<memory::Line>()?;
    module.add_function(wrap_pyfunction!(attempts, module)?)?;
    module.add_function(wrap_pyfunction!(optimize, module)?)?;
    module.add_function(wrap_pyfunction!(memory::report, module)?)
}

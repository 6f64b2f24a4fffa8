// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo._slimhlo`: what `import slimhlo` needs of Rust. The same library is the PJRT layer: it has
//! `GetPjrtApi`, so that there is one MLIR in the wheel and not two.

mod memory;

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use slimhlo_passes::Bytes;
use slimhlo_passes::cost::Room;
use slimhlo_passes::framework::OptionValue;
// The linker takes `GetPjrtApi` from here.
pub use slimhlo_pjrt::GetPjrtApi;
use slimhlo_pjrt::optimizer::{self, Job, Options, Outcome};
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
    /// What stages of the pipeline took off the peak, in bytes.
    stages: Vec<(String, u64)>,
    /// Reading, rewriting and writing.
    seconds: f64,
}

/// What Python says of how small programs are to be, as text.
#[derive(Clone, Copy, Default)]
struct Bounds<'a> {
    memory_limit: Option<&'a str>,
    without: Option<&'a str>,
}

/// What `target` says, or else the platform's, how much longer programs may take, what they may need, and which levers are left alone.
fn options(
    platform: &str,
    target: Option<&str>,
    max_slowdown: Option<f64>,
    bounds: Bounds<'_>,
) -> PyResult<Options> {
    let mut options = Options::for_platform(platform);
    let wrong = |name: &str, error: String| PyValueError::new_err(format!("{name}: {error}"));
    if let Some(target) = target {
        options.target = OptionValue::parse(target).map_err(|error| wrong("target", error))?;
    }
    if let Some(most) = max_slowdown {
        options.max_slowdown =
            OptionValue::parse(&most.to_string()).map_err(|error| wrong("max_slowdown", error))?;
    }
    if let Some(limit) = bounds.memory_limit {
        let room = Room::parse(limit).and_then(|room| room.bytes(options.target));
        options.memory_limit = Some(Bytes(room.map_err(|error| wrong("memory_limit", error))?));
    }
    if let Some(without) = bounds.without {
        options.without = OptionValue::parse(without).map_err(|error| wrong("without", error))?;
    }
    Ok(options)
}

/// Makes a module smaller, whatever form it is in; returns it in that form, or nothing if it stays as it is.
/// Other threads of Python run meanwhile.
#[pyfunction]
#[pyo3(signature = (module, *, platform, target, max_slowdown, threshold, time_limit, memory_limit=None, without=None))]
#[expect(clippy::too_many_arguments, reason = "they are Python's, by name")]
fn optimize<'py>(
    py: Python<'py>,
    module: Vec<u8>,
    platform: &str,
    target: Option<&str>,
    max_slowdown: Option<f64>,
    threshold: u64,
    time_limit: Option<f64>,
    memory_limit: Option<&str>,
    without: Option<&str>,
) -> PyResult<(Option<Bound<'py, PyBytes>>, Report)> {
    let time = time_limit.map(Duration::try_from_secs_f64).transpose();
    let time = time.map_err(|error| PyValueError::new_err(format!("time_limit: {error}")))?;
    let options = options(platform, target, max_slowdown, Bounds { memory_limit, without })?;
    let job = Job { program: module, options, threshold, time, keep_text: false };
    let (outcome, report) = py.detach(|| optimizer::run(job));
    let module = match outcome {
        Outcome::Smaller(bytes) => Some(PyBytes::new(py, &bytes)),
        Outcome::Same | Outcome::Small => None,
        Outcome::Failed(why) => return Err(Error::new_err(why)),
    };
    let optimizer::Report { name, before, after, stages, seconds, .. } = report;
    let stages = stages.into_iter().map(|(name, saved)| (name.to_owned(), saved)).collect();
    Ok((module, Report { name, before, after, stages, seconds }))
}

/// The module of Python.
#[pymodule]
fn _slimhlo(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<Error>())?;
    module.add_class::<Report>()?;
    module.add_class::<memory::Memory>()?;
    module.add_class::<memory::Line>()?;
    module.add_function(wrap_pyfunction!(optimize, module)?)?;
    module.add_function(wrap_pyfunction!(memory::report, module)?)
}

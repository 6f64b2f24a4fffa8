// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `slimhlo._slimhlo`: what `import slimhlo` needs of Rust. The same library is the PJRT layer: it has
//! `GetPjrtApi`, so that there is one MLIR in the wheel and not two.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
// The linker takes `GetPjrtApi` from here.
pub use slimhlo_pjrt::GetPjrtApi;
use slimhlo_pjrt::optimizer::{self, Job, Options, Outcome};
use std::time::Duration;

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

/// Makes a module smaller, whatever form it is in; returns it in that form, or nothing if it stays as it is.
/// Other threads of Python run meanwhile.
#[pyfunction]
#[pyo3(signature = (module, *, platform, time_limit))]
fn optimize<'py>(
    py: Python<'py>,
    module: Vec<u8>,
    platform: &str,
    time_limit: Option<f64>,
) -> PyResult<(Option<Bound<'py, PyBytes>>, Report)> {
    let time = time_limit.map(Duration::try_from_secs_f64).transpose();
    let time = time.map_err(|error| PyValueError::new_err(format!("time_limit: {error}")))?;
    let options = Options::for_platform(platform);
    let job = Job { program: module, options, threshold: 0, time, keep_text: false };
    let (outcome, report) = py.detach(|| optimizer::run(job));
    let module = match outcome {
        Outcome::Smaller(bytes) => Some(PyBytes::new(py, &bytes)),
        Outcome::Same | Outcome::Small => None,
        Outcome::Failed(why) => return Err(PyValueError::new_err(why)),
    };
    let optimizer::Report { name, before, after, stages, seconds, .. } = report;
    let stages = stages.into_iter().map(|(name, saved)| (name.to_owned(), saved)).collect();
    Ok((module, Report { name, before, after, stages, seconds }))
}

/// The module of Python.
#[pymodule]
fn _slimhlo(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Report>()?;
    module.add_function(wrap_pyfunction!(optimize, module)?)
}

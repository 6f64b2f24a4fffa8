// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The suite: finds the test files by litcheck's rules and makes a test of each.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use libtest_mimic::{Arguments, Completion, Conclusion, Failed, Trial};
use litcheck_core::diagnostics::{self, DiagResult};
use litcheck_core::reporting;
use litcheck_lit::config::SubstitutionSet;
use litcheck_lit::{Config, DefaultTestSuiteRegistry, Test, TestFormat, TestStatus, TestSuite};

use crate::tools::Tools;

/// A test that runs longer than this many seconds hangs.
const TIMEOUT: u64 = 120;

/// Runs the tests that `arguments` select.
pub fn run(arguments: &Arguments) -> Result<Conclusion> {
    let _ = reporting::set_hook(Box::new(|_| Box::new(reporting::ReportHandlerOpts::new().build())));
    let mut config = Config::default();
    config.options.timeout = Some(TIMEOUT);
    let mut suite = readable(TestSuite::parse(root().join("lit.suite.toml"), &config))?;

    // Listing needs no programs, and whoever lists (an editor, nextest) should not wait for a build.
    if !arguments.list {
        let tools = Tools::prepare()?;
        let shared = Arc::get_mut(&mut suite).context("the suite is in use before its tests exist")?;
        let plugin = tools.plugin.to_string_lossy().into_owned();
        // Instead of litcheck's own set, whose rules for FileCheck and `not` assume its own executables and would
        // rewrite the names to nothing here. `%p` and `%S` are one thing to LLVM; litcheck has only the latter.
        Arc::make_mut(&mut shared.config).substitutions =
            SubstitutionSet::new([(r"%slimhlo_plugin\b", plugin), (r"%p\b", "%S".to_owned())]);
        config.options.search_paths.push(tools.path);
    }

    let config = Arc::new(config);
    let tests = readable(suite.config.format.registry().all(
        suite.clone(),
        &config,
        &mut DefaultTestSuiteRegistry::default(),
    ))?;
    let trials = tests
        .into_iter()
        .map(|test| {
            let config = config.clone();
            Trial::ignorable_test(test.path.to_string_lossy().into_owned(), move || execute(&test, &config))
        })
        .collect();
    Ok(libtest_mimic::run(arguments, trials))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn execute(test: &Test, config: &Config) -> Result<Completion, Failed> {
    let result = test.config.format.execute(test, config).map_err(|report| format!("{report:?}"))?;
    match result.status() {
        TestStatus::Pass | TestStatus::Xfail => Ok(Completion::Completed),
        TestStatus::Unsupported => Ok(Completion::ignored_with(result.stderr())),
        status => Err(format!("{status}\n{result:#}").into()),
    }
}

/// litcheck's reports are not `std::error::Error`s; their debug form is the one meant for people.
fn readable<T>(result: DiagResult<T>) -> Result<T> {
    result.map_err(|report: diagnostics::Report| anyhow!("{report:?}"))
}

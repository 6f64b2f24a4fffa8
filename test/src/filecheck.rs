// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! FileCheck as RUN lines call it: litcheck's checker behind the arguments of LLVM's command.

use std::process::ExitCode;

use clap::Parser;
use litcheck_core::Input;
use litcheck_core::diagnostics::{DiagResult, IntoDiagnostic};
use litcheck_core::reporting;
use litcheck_filecheck::{Config, Options, Test};

#[derive(Parser)]
#[command(name = "FileCheck")]
struct Arguments {
    /// File with the CHECK lines.
    check_file: Input,
    /// File to check; standard input when not given.
    #[arg(long, default_value = "-")]
    input_file: Input,
    #[command(flatten)]
    options: Options,
}

/// Checks one file against another; 0 when it holds, 1 when it does not, 2 when the question makes no sense.
pub fn main() -> ExitCode {
    // The hook can only be set once per process and this is that once.
    let _ = reporting::set_hook(Box::new(|_| Box::new(reporting::ReportHandlerOpts::new().build())));
    let mut arguments = Arguments::parse();
    if let Some(extra) = std::env::var("FILECHECK_OPTS").ok().and_then(|extra| shlex::split(&extra)) {
        arguments.options.update_from(extra);
    }
    match check(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(report) => {
            eprintln!("{report:?}");
            ExitCode::FAILURE
        }
    }
}

fn check(arguments: Arguments) -> DiagResult<()> {
    let Arguments { check_file, input_file, mut options } = arguments;
    // The parser of the checks matches prefixes in order and expects no duplicates.
    for prefixes in [&mut options.check_prefixes, &mut options.comment_prefixes] {
        prefixes.sort();
        prefixes.dedup();
    }
    options.validate()?;
    let config = Config { options, ..Config::default() };
    let checks = check_file.into_source(true, config.source_manager()).into_diagnostic()?;
    let input = input_file.into_source(true, config.source_manager()).into_diagnostic()?;
    Test::new(checks, &config).verify(input).map(|_| ())
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The test target: every lit file below this folder is one test of it.

use std::process::ExitCode;

fn main() -> ExitCode {
    slimhlo_test::main()
}

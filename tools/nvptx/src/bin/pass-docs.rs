// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Prints docs/passes.md.

fn main() {
    let passes: Vec<_> = slimhlo_passes::passes().iter().chain(slimhlo_nvptx::passes()).cloned().collect();
    print!("{}", slimhlo_passes::docs::markdown(&passes, slimhlo_passes::pipelines()));
}

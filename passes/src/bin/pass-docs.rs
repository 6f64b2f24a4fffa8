// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Prints docs/passes.md.

fn main() {
    print!("{}", slimhlo_passes::docs::markdown(slimhlo_passes::passes(), slimhlo_passes::pipelines()));
}

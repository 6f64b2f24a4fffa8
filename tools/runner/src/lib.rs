// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Runs programs that slimhlo has compiled.

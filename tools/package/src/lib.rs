// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The format of programs that slimhlo has compiled.

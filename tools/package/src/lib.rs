// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The format of programs that slimhlo has compiled.
//!
//! A compiled program is a *package*: a folder with a manifest (what goes in and comes out, the buffer plan, the
//! schedule), the kernels as PTX, perhaps also as machine code, and the constants. `docs/package.md` describes it for
//! readers in other languages. This crate knows nothing of MLIR or LLVM: what compiles writes packages with
//! [`Package::write`], what runs them reads them with [`Package::read`].
//!
//! A package that was read is safe to run as far as the manifest goes: every buffer a kernel is given lies inside of the
//! arena, the constants, an argument or a result, and is as long as the kernel expects; nothing read-only is written.

mod element;
mod error;
mod files;
mod manifest;
mod slot;
mod validate;

pub use element::ElementType;
pub use error::{Error, Result};
pub use files::{CONSTANTS_FILE, CUBIN_FILE, MANIFEST_FILE, PTX_FILE, Package};
pub use manifest::{
    ALIGNMENT, Access, Argument, Buffer, Counter, FORMAT, Function, Kernel, Live, Manifest, OFFSETS, Output,
    Parameter, Selector, Step, Tensor,
};
pub use slot::Slot;

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Hooks of `SdyHooks.h` whose rules are still to come; they accept everything until then.
#![allow(clippy::missing_safety_doc, missing_docs)]

use mlir_sys::{MlirAttribute, MlirLogicalResult, MlirOperation, MlirStringRef, MlirType};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloSdyVerifyOperationAttribute(
    _op: MlirOperation,
    _name: MlirStringRef,
    _attribute: MlirAttribute,
) -> MlirLogicalResult {
    MlirLogicalResult { value: 1 }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloSdyVerifyValueAttribute(
    _op: MlirOperation,
    _is_result: bool,
    _index: u32,
    _ty: MlirType,
    _name: MlirStringRef,
    _attribute: MlirAttribute,
) -> MlirLogicalResult {
    MlirLogicalResult { value: 1 }
}

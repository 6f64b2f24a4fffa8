// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The functions of `slimhlo-c/Hooks.h`: what the C++ half asks of the Rust half.
//!
//! A panic in a rule is a bug of ours; it must not unwind into C++. Each hook catches it, reports it at the op as an
//! internal error, and fails.

use crate::quant::verify_quantized;
use crate::rules::{Folded, rules};
use crate::types;
use crate::view::{OpError, OpView, Parts, Verdict};
use crate::{ffi, first, stablehlo};
use melior::ContextRef;
use melior::ir::attribute::DictionaryAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{
    Attribute, AttributeLike, Location, OperationRef, RegionRef, Type, TypeLike, Value, ValueLike,
};
use mlir_sys::{
    MlirAttribute, MlirContext, MlirLocation, MlirLogicalResult, MlirOperation, MlirRegion, MlirStringRef,
    MlirType, MlirValue,
};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) const SUCCESS: MlirLogicalResult = MlirLogicalResult { value: 1 };
pub(crate) const FAILURE: MlirLogicalResult = MlirLogicalResult { value: 0 };

/// Runs `rule`; what it rejects, or a panic in it, is reported at `view`.
pub(crate) fn decide<T>(view: &OpView<'_, '_>, rule: impl FnOnce() -> Result<T, OpError>) -> Option<T> {
    let outcome = catch_unwind(AssertUnwindSafe(rule)).unwrap_or_else(|_| {
        Err(OpError("met an internal error of slimhlo; please report it with this module".into()))
    });
    outcome.map_err(|error| view.report(&error)).ok()
}

/// Verifies what type constraints of an op ask of the whole tensor type, beyond its element type.
fn verify_types(op: &OpView<'_, '_>) -> Verdict {
    // Most ops have the same type all over.
    let mut last = None;
    for index in 0..op.operand_count() {
        let ty = op.operand_type(index)?;
        if last.replace(ty) != Some(ty) {
            verify_quantized(ty).map_err(|why| OpError(format!("operand #{index} {why}")))?;
        }
    }
    for index in 0..op.result_count() {
        let ty = op.result_type(index)?;
        if last.replace(ty) != Some(ty) {
            verify_quantized(ty).map_err(|why| OpError(format!("result #{index} {why}")))?;
        }
    }
    Ok(())
}

/// # Safety
/// `count` values must follow `data`, or `count` be zero.
unsafe fn slice_or_empty<'a, T>(data: *const T, count: isize) -> &'a [T] {
    // SAFETY: given by the caller.
    unsafe { ffi::slice_of(data, count) }.unwrap_or_default()
}

/// See `Hooks.h`.
///
/// # Safety
/// `op` must be a live operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVerifyOp(op: MlirOperation) -> MlirLogicalResult {
    // SAFETY: given by the caller.
    let view = OpView::Op(unsafe { OperationRef::from_raw(op) });
    let verify = || {
        verify_types(&view)?;
        rules(view.name()).verify.map_or(Ok(()), |rule| rule(&view))
    };
    decide(&view, verify).map_or(FAILURE, |()| SUCCESS)
}

/// See `Hooks.h`.
///
/// # Safety
/// `op` must be a live operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVerifyFirst(
    op: MlirOperation,
    operands: isize,
    results: isize,
    regions: isize,
) -> MlirLogicalResult {
    // SAFETY: given by the caller.
    let view = OpView::Op(unsafe { OperationRef::from_raw(op) });
    decide(&view, || first::verify(&view, [operands, results, regions])).map_or(FAILURE, |()| SUCCESS)
}

/// See `Hooks.h`.
///
/// # Safety
/// `op` must be a live operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVerifyOpRegions(op: MlirOperation) -> MlirLogicalResult {
    // SAFETY: given by the caller.
    let view = OpView::Op(unsafe { OperationRef::from_raw(op) });
    let Some(rule) = rules(view.name()).verify_regions else { return SUCCESS };
    decide(&view, || rule(&view)).map_or(FAILURE, |()| SUCCESS)
}

/// See `Hooks.h`.
///
/// # Safety
/// `op` must be a live operation, `symbol` an attribute and `target` a live operation or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVerifySymbolUse(
    op: MlirOperation,
    symbol: MlirAttribute,
    target: MlirOperation,
) -> MlirLogicalResult {
    // SAFETY: given by the caller.
    let (view, symbol, target) = unsafe {
        (
            OpView::Op(OperationRef::from_raw(op)),
            Attribute::from_raw(symbol),
            (!target.ptr.is_null()).then(|| OperationRef::from_raw(target)),
        )
    };
    let Some(rule) = rules(view.name()).verify_symbol_use else { return SUCCESS };
    decide(&view, || rule(&view, symbol, target)).map_or(FAILURE, |()| SUCCESS)
}

/// See `Hooks.h`.
///
/// # Safety
/// All handles must be live, the counts those of the arrays; `location` and `attributes` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloInferReturnTypes(
    name: MlirStringRef,
    context: MlirContext,
    location: MlirLocation,
    operand_count: isize,
    operands: *const MlirValue,
    attributes: MlirAttribute,
    region_count: isize,
    regions: *const MlirRegion,
    sink: unsafe extern "C" fn(MlirType, *mut c_void),
    user_data: *mut c_void,
) -> MlirLogicalResult {
    // SAFETY: given by the caller; nothing made here outlives the call.
    let parts = unsafe {
        Parts {
            name: ffi::text(name),
            context: ContextRef::from_raw(context),
            location: (!location.ptr.is_null()).then(|| Location::from_raw(location)),
            operands: slice_or_empty(operands, operand_count)
                .iter()
                .map(|&raw| Value::from_raw(raw))
                .collect(),
            attributes: ffi::option(attributes).and_then(|found| DictionaryAttribute::try_from(found).ok()),
            regions: slice_or_empty(regions, region_count)
                .iter()
                .map(|&raw| RegionRef::from_raw(raw))
                .collect(),
        }
    };
    let view = OpView::Parts(&parts);
    let inferred = decide(&view, || match rules(view.name()).infer {
        Some(rule) => rule(&view),
        None => Err(OpError("has result types that cannot be inferred".into())),
    });
    let Some(types) = inferred else { return FAILURE };
    for ty in types {
        // SAFETY: the sink takes any type of this context.
        unsafe { sink(ty.to_raw(), user_data) };
    }
    SUCCESS
}

/// See `Hooks.h`.
///
/// # Safety
/// The counts must be those of the arrays, which hold live types; `name` must be text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloAreCompatibleReturnTypes(
    name: MlirStringRef,
    inferred_count: isize,
    inferred: *const MlirType,
    actual_count: isize,
    actual: *const MlirType,
) -> bool {
    // SAFETY: given by the caller.
    let (inferred, actual) =
        unsafe { (slice_or_empty(inferred, inferred_count), slice_or_empty(actual, actual_count)) };
    // SAFETY: given by the caller.
    let name = unsafe { ffi::text(name) };
    let compatible = rules(name).compatible_result.unwrap_or(types::compatible_result);
    inferred.len() == actual.len()
        && inferred.iter().zip(actual).all(|(&inferred, &actual)| {
            // SAFETY: as above.
            let (inferred, actual) = unsafe { (Type::from_raw(inferred), Type::from_raw(actual)) };
            catch_unwind(|| compatible(inferred, actual)).unwrap_or(false)
        })
}

/// See `Hooks.h`.
///
/// # Safety
/// `op` must be a live operation and `operands` hold one attribute or null per operand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloFold(
    op: MlirOperation,
    operand_count: isize,
    operands: *const MlirAttribute,
    sink: unsafe extern "C" fn(MlirAttribute, MlirValue, *mut c_void),
    user_data: *mut c_void,
) -> MlirLogicalResult {
    // SAFETY: given by the caller.
    let op = unsafe { OperationRef::from_raw(op) };
    let view = OpView::Op(op);
    let Some(rule) = rules(view.name()).fold else { return FAILURE };
    // A fold leaves no op behind to carry a sharding or a frontend attribute. MLIR asks a constant for its value in the same way, and does
    // not expect that it has none.
    let is_constant = matches!(view.name(), "stablehlo.constant" | "chlo.constant");
    if op.discardable_attribute_count() > 0 && !is_constant {
        return FAILURE;
    }
    // SAFETY: given by the caller.
    let operands: Vec<Option<Attribute>> =
        unsafe { slice_or_empty(operands, operand_count).iter().map(|&raw| ffi::option(raw)).collect() };
    let Some(Some(results)) = decide(&view, || Ok(rule(op, &operands))) else { return FAILURE };
    if results.len() != op.result_count() {
        return FAILURE;
    }
    for result in results {
        let (attribute, value) = match result {
            Folded::Constant(attribute) => (attribute.to_raw(), MlirValue { ptr: std::ptr::null() }),
            Folded::Value(value) => (MlirAttribute { ptr: std::ptr::null() }, value.to_raw()),
        };
        // SAFETY: exactly one of the two is not null, as the sink wants it.
        unsafe { sink(attribute, value, user_data) };
    }
    SUCCESS
}

/// See `Hooks.h`.
///
/// # Safety
/// `op` must be a live operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloHasMemoryEffects(op: MlirOperation) -> bool {
    // SAFETY: given by the caller.
    let view = OpView::Op(unsafe { OperationRef::from_raw(op) });
    // Where nothing is known, or the rule fails, an effect is the safe answer.
    rules(view.name())
        .has_memory_effects
        .is_none_or(|query| catch_unwind(AssertUnwindSafe(|| query(&view))).unwrap_or(true))
}

/// See `Hooks.h`.
///
/// # Safety
/// `op` must be a live operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloIsSpeculatable(op: MlirOperation) -> bool {
    // SAFETY: given by the caller.
    let view = OpView::Op(unsafe { OperationRef::from_raw(op) });
    let query = rules(view.name()).is_speculatable.unwrap_or(types::all_shapes_static);
    catch_unwind(AssertUnwindSafe(|| query(&view))).unwrap_or(false)
}

/// See `Hooks.h`.
///
/// # Safety
/// `parameters` must hold `parameter_count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slimhloVerifyParameters(
    mnemonic: MlirStringRef,
    parameter_count: isize,
    parameters: *const i64,
    sink: unsafe extern "C" fn(MlirStringRef, *mut c_void),
    user_data: *mut c_void,
) -> MlirLogicalResult {
    // SAFETY: given by the caller.
    let (mnemonic, parameters) =
        unsafe { (ffi::text(mnemonic), slice_or_empty(parameters, parameter_count)) };
    let mut report = |message: &str| {
        // SAFETY: the message is copied into the diagnostic.
        unsafe { sink(melior::StringRef::new(message).to_raw(), user_data) }
    };
    let valid = catch_unwind(AssertUnwindSafe(|| {
        if mnemonic.starts_with("sdy.") {
            crate::sdy::params::verify_parameters(mnemonic, parameters, &mut report)
        } else {
            stablehlo::params::verify_parameters(mnemonic, parameters, &mut report)
        }
    }));
    if valid.unwrap_or(false) { SUCCESS } else { FAILURE }
}

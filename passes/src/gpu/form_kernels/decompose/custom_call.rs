// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Custom calls whose meaning is known, in ops.
//!
//! * Annotations of one value (`Sharding`, `annotate_device_placement`, `LayoutConstraint`, `MoveToHost`, ...) are that value: a kernel has one
//!   device, and its buffers one layout.
//! * `mhlo.erf`, `mhlo.topk` and the like are CHLO's ops, as exporters write them to be read by older StableHLO.
//! * `ApproxTopK` may find the very largest: it becomes a sort by its comparator.
//! * LAPACK's and cuSOLVER's `potrf` is `stablehlo.cholesky` in one triangle and the operand in the other, and the number of the first
//!   pivot that is not positive; LAPACK's `trsm` is `stablehlo.triangular_solve`.
//! * QR and LU decompositions, and what JAX does with them, are loops (`reflectors.rs`, `triangles.rs`), and so are eigenvalues and singular
//!   values (`jacobi.rs`).
//!
//! All others are left as they are, for the formation of kernels to refuse.

use super::jacobi::{self, Wanted};
use super::{reflectors, replace, top_k, triangles};
use crate::framework::PassError;
use crate::functions::{functions, name_of};
use crate::ir::{self, Builder, key};
use melior::ir::attribute::{
    ArrayAttribute, BoolAttribute, DictionaryAttribute, FlatSymbolRefAttribute, IntegerAttribute,
};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, attribute_in, attribute_of, integer_value, op_name};
use slimhlo_dialect::quant::Number;
use slimhlo_dialect::stablehlo::attrs::{ComparisonDirection, ComparisonType, Transpose};
use slimhlo_dialect::types::{Tensor, is_static};
use std::collections::HashMap;

/// Annotations: the result is the operand.
const ANNOTATIONS: &[&str] = &[
    "LayoutConstraint",
    "MoveToDevice",
    "MoveToHost",
    "PinToDevice",
    "PinToHost",
    "Sharding",
    "annotate_device_placement",
    "xla.sdy.FuncResultSharding",
];

/// Elementwise functions of one operand, and the ops that they stand for.
const FUNCTIONS: &[(&str, &str)] = &[
    ("mhlo.acos", "chlo.acos"),
    ("mhlo.acosh", "chlo.acosh"),
    ("mhlo.asin", "chlo.asin"),
    ("mhlo.asinh", "chlo.asinh"),
    ("mhlo.atanh", "chlo.atanh"),
    ("mhlo.cosh", "chlo.cosh"),
    ("mhlo.erf", "chlo.erf"),
    ("mhlo.sinh", "chlo.sinh"),
    ("mhlo.tan", "stablehlo.tan"),
];

/// Replaces a custom call that is known.
pub fn custom_call<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    module: OperationRef<'c, 'a>,
    op: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let Some(target) = ir::string_attribute(op, "call_target_name") else { return Ok(()) };
    let types =
        || op.operands().map(|operand| operand.r#type()).chain(op.results().map(|result| result.r#type()));
    let known = |ty| Tensor::new(ty).is_some_and(|tensor| tensor.shape.iter().all(|&size| is_static(size)));
    if !types().all(known) {
        return Ok(());
    }
    builder.set_insertion_point_before(op);
    let one = op.operand_count() == 1 && op.result_count() == 1;
    let same = one && op.operand(0)?.r#type() == op.result(0)?.r#type();
    if same && ANNOTATIONS.contains(&target) {
        let operand = op.operand(0)?;
        replace(builder, op, &[operand]);
        return Ok(());
    }
    if same && let Some((_, name)) = FUNCTIONS.iter().find(|(call, _)| *call == target) {
        let operand = op.operand(0)?;
        let result = builder.insert(name, &[operand], &[], operand.r#type(), op.location());
        replace(builder, op, &[result]);
        return Ok(());
    }
    match target {
        "ApproxTopK" => approximate_top_k(builder, module, op),
        "mhlo.topk" => exported_top_k(builder, op),
        _ => {
            let (family, rest) = target.split_once('_').unwrap_or(("", target));
            match (family, rest) {
                ("lapack", "spotrf_ffi" | "dpotrf_ffi" | "cpotrf_ffi" | "zpotrf_ffi")
                | ("cusolver" | "hipsolver", "potrf_ffi") => cholesky(builder, op),
                ("lapack", "sgeqrf_ffi" | "dgeqrf_ffi" | "cgeqrf_ffi" | "zgeqrf_ffi")
                | ("cusolver" | "hipsolver", "geqrf_ffi")
                | ("", "Qr") => reflectors::decomposition(builder, op),
                ("lapack", "sorgqr_ffi" | "dorgqr_ffi" | "cungqr_ffi" | "zungqr_ffi")
                | ("cusolver" | "hipsolver", "orgqr_ffi")
                | ("", "ProductOfElementaryHouseholderReflectors") => reflectors::product(builder, op),
                ("lapack", "sormqr_ffi" | "dormqr_ffi" | "cunmqr_ffi" | "zunmqr_ffi")
                | ("cusolver" | "hipsolver", "ormqr_ffi") => {
                    match (flag(op, "left"), flag(op, "transpose")) {
                        (Some(left), Some(transpose)) => {
                            reflectors::multiplication(builder, op, left, transpose)
                        }
                        _ => Ok(()),
                    }
                }
                ("lapack", "sgetrf_ffi" | "dgetrf_ffi" | "cgetrf_ffi" | "zgetrf_ffi")
                | ("cusolver" | "hipsolver", "getrf_ffi") => triangles::decomposition(builder, op),
                ("lapack", "ssyevd_ffi" | "dsyevd_ffi" | "cheevd_ffi" | "zheevd_ffi")
                | ("cusolver" | "hipsolver", "syevd_ffi") => {
                    let lower = letter(op, "uplo").map(|letter| letter == 'L').or_else(|| flag(op, "lower"));
                    lower.map_or(Ok(()), |lower| jacobi::hermitian(builder, op, lower))
                }
                (
                    "lapack",
                    "sgesdd_ffi" | "dgesdd_ffi" | "cgesdd_ffi" | "zgesdd_ffi" | "sgesvd_ffi" | "dgesvd_ffi"
                    | "cgesvd_ffi" | "zgesvd_ffi",
                )
                | ("cusolver" | "hipsolver", "gesvdj_ffi" | "gesvdp_ffi" | "gesvd_ffi" | "gesdd_ffi") => {
                    singular_vectors(op, rest).map_or(Ok(()), |wanted| jacobi::singular(builder, op, wanted))
                }
                ("cu" | "hip", "lu_pivots_to_permutation") => triangles::permutation(builder, op),
                ("lapack", "strsm_ffi" | "dtrsm_ffi" | "ctrsm_ffi" | "ztrsm_ffi") => {
                    triangular_solve(builder, op)
                }
                _ => Ok(()),
            }
        }
    }
}

/// A field of the call's configuration.
fn field<'c>(op: OperationRef<'c, '_>, name: &str) -> Option<melior::ir::Attribute<'c>> {
    ["mhlo.backend_config", "backend_config", "mhlo.attributes"]
        .into_iter()
        .filter_map(|dictionary| DictionaryAttribute::try_from(attribute_of(op, dictionary)?).ok())
        .find_map(|dictionary| attribute_in(dictionary, name))
}

fn number(op: OperationRef<'_, '_>, name: &str) -> Option<i64> {
    IntegerAttribute::try_from(field(op, name)?).ok().map(integer_value)
}

fn flag(op: OperationRef<'_, '_>, name: &str) -> Option<bool> {
    BoolAttribute::try_from(field(op, name)?).ok().map(|flag| flag.value())
}

/// A letter by which LAPACK chooses.
fn letter(op: OperationRef<'_, '_>, name: &str) -> Option<char> {
    number(op, name).and_then(|code| u8::try_from(code).ok()).map(char::from)
}

/// In which form a call wants singular vectors.
fn singular_vectors(op: OperationRef<'_, '_>, name: &str) -> Option<Wanted> {
    let is_wanted = letter(op, "mode").map(|mode| mode != 'N').or_else(|| flag(op, "compute_uv"))?;
    Some(match (is_wanted, name) {
        (false, _) => Wanted::Values,
        (true, "gesvdj_ffi" | "gesvdp_ffi") => Wanted::Columns,
        (true, _) if flag(op, "transposed") == Some(true) => Wanted::AdjointFirst,
        (true, _) => Wanted::Adjoint,
    })
}

/// `mhlo.topk` with `k` and `largest`.
fn exported_top_k<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let (Some(k), true) = (number(op, "k"), flag(op, "largest").unwrap_or(true)) else { return Ok(()) };
    if op.operand_count() != 1 || op.result_count() != 2 {
        return Ok(());
    }
    let operand = op.operand(0)?;
    let types: Vec<_> = op.results().map(|result| result.r#type()).collect();
    let count = IntegerAttribute::new(builder.i64_type(), k).into();
    let largest = builder.op_with("chlo.top_k", &[operand], &[("k", count)], &types, op.location());
    replace(builder, op, &largest.results().map(Value::from).collect::<Vec<_>>());
    top_k(builder, largest)
}

/// The first of all operands after a sort by the comparator that the call names.
fn approximate_top_k<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    module: OperationRef<'c, 'a>,
    op: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let comparator = attribute_of(op, "called_computations")
        .and_then(|called| ArrayAttribute::try_from(called).ok())
        .and_then(|called| called.element(0).ok())
        .and_then(|name| FlatSymbolRefAttribute::try_from(name).ok())
        .and_then(|name| functions(module).into_iter().find(|function| name_of(*function) == name.value()));
    let (Some(comparator), Some(dim)) = (comparator, number(op, "reduction_dim")) else { return Ok(()) };
    let body = comparator.region(0).ok().and_then(|region| region.first_block());
    let (Some(body), count) = (body, op.result_count()) else { return Ok(()) };
    // After the operands come the values where there is none.
    if op.operand_count() != 2 * count
        || body.argument_count() != 2 * count
        || body.next_in_region().is_some()
    {
        return Ok(());
    }
    let location = op.location();
    let operands: Vec<_> = op.operands().take(count).collect();
    let types: Vec<_> = operands.iter().map(|operand| operand.r#type()).collect();
    let scalars: Vec<Type<'c>> =
        types.iter().flat_map(|ty| [Tensor::get(&[], ir::element_of(*ty), None); 2]).collect();
    let dimension = IntegerAttribute::new(builder.i64_type(), dim).into();
    let sort = builder.op_with_regions(
        "stablehlo.sort",
        &operands,
        &[("dimension", dimension), ("is_stable", BoolAttribute::new(builder.context(), true).into())],
        &types,
        &[&scalars],
        location,
    );
    let Some(block) = sort.region(0)?.first_block() else { return Ok(()) };
    builder.set_insertion_point_to_end(block);
    let mut known: HashMap<usize, Value<'c, 'a>> = HashMap::new();
    for index in 0..body.argument_count() {
        known.insert(key(body.argument(index)?.into()), block.argument(index)?.into());
    }
    let mut next = body.first_operation();
    while let Some(inner) = next {
        next = inner.next_in_block();
        let operands: Vec<_> =
            inner.operands().map(|value| known.get(&key(value)).copied().unwrap_or(value)).collect();
        if matches!(op_name(inner), "stablehlo.return" | "func.return") {
            builder.terminator("stablehlo.return", &operands, location);
            break;
        }
        let types: Vec<_> = inner.results().map(|result| result.r#type()).collect();
        let copy = builder.copy_with(inner, &operands, &[], &types);
        for (old, new) in inner.results().zip(copy.results()) {
            known.insert(key(old.into()), new.into());
        }
    }
    builder.set_insertion_point_before(op);
    let mut results = Vec::new();
    for (sorted, result) in sort.results().zip(op.results()) {
        let ty = result.r#type();
        results.push(builder.slice(
            sorted.into(),
            &vec![0; ffi::shape(ty).map_or(0, <[i64]>::len)],
            ty,
            location,
        ));
    }
    replace(builder, op, &results);
    Ok(())
}

/// `potrf`: the factor, and which pivot failed (0 if none did).
fn cholesky<'c: 'a, 'a>(builder: &Builder<'c, 'a>, op: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let lower = letter(op, "uplo").map(|letter| letter == 'L').or_else(|| flag(op, "lower"));
    let (Some(lower), 1, 2) = (lower, op.operand_count(), op.result_count()) else { return Ok(()) };
    let (operand, location, context) = (op.operand(0)?, op.location(), builder.context());
    let Some(tensor) = Tensor::new(operand.r#type()) else { return Ok(()) };
    let rank = tensor.rank();
    if rank < 2 || op.result(0)?.r#type() != tensor.ty {
        return Ok(());
    }
    let info = op.result(1)?.r#type();
    let attributes = [("lower", BoolAttribute::new(context, lower).into())];
    let factor = builder.insert("stablehlo.cholesky", &[operand], &attributes, tensor.ty, location);

    let integer: Type<'c> = ir::element_of(info);
    let numbers = Tensor::get(tensor.shape, integer, None);
    let (row, column) =
        (builder.iota(numbers, rank - 2, location), builder.iota(numbers, rank - 1, location));
    let direction = if lower { ComparisonDirection::Ge } else { ComparisonDirection::Le };
    let inside = builder.compare(direction, row, column, location);
    let result = builder.select(inside, factor, operand, location);

    // Pivots count from 1; the number after the last one stands for none.
    let (complex, part) = match Number::of(tensor.element) {
        Number::Complex { part } => (true, part),
        _ => (false, tensor.element),
    };
    let reals = Tensor::get(tensor.shape, part, None);
    let real =
        if complex { builder.insert("stablehlo.real", &[factor], &[], reals, location) } else { factor };
    let zero = builder.broadcast_scalar(builder.number(0.0, part, location), reals, location);
    let positive = builder.compare_as(ComparisonDirection::Gt, ComparisonType::Float, real, zero, location);
    let pivot = builder.compare(ComparisonDirection::Eq, row, column, location);
    let none = tensor.shape[rank - 1] + 1;
    let scalar = |value: i64| builder.number(value as f64, integer, location);
    let spread = |value: i64, ty: Type<'c>| builder.broadcast_scalar(scalar(value), ty, location);
    let fine = builder.binary("stablehlo.or", positive, not(builder, pivot, location), location);
    let after = builder.binary("stablehlo.add", row, spread(1, numbers), location);
    let failed = builder.select(fine, spread(none, numbers), after, location);
    let dims = [rank as i64 - 2, rank as i64 - 1];
    let first = builder.reduce("stablehlo.minimum", [failed, scalar(none)], &dims, info, location);
    let all = builder.compare(ComparisonDirection::Eq, first, spread(none, info), location);
    let code = builder.select(all, spread(0, info), first, location);
    replace(builder, op, &[result, code]);
    Ok(())
}

fn not<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    value: Value<'c, 'a>,
    location: melior::ir::Location<'c>,
) -> Value<'c, 'a> {
    builder.insert("stablehlo.not", &[value], &[], value.r#type(), location)
}

/// `trsm`
fn triangular_solve<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let letters = ["side", "uplo", "diag", "trans_x"].map(|name| letter(op, name));
    let [Some(side), Some(triangle), Some(diagonal), Some(form)] = letters else { return Ok(()) };
    if op.operand_count() != 2 || op.result_count() != 1 || op.operand(1)?.r#type() != op.result(0)?.r#type()
    {
        return Ok(());
    }
    let context = builder.context();
    let form = match form {
        'N' => Transpose::NoTranspose,
        'T' => Transpose::Transpose,
        'C' => Transpose::Adjoint,
        _ => return Ok(()),
    };
    let flag = |value| BoolAttribute::new(context, value).into();
    let attributes = [
        ("left_side", flag(side == 'L')),
        ("lower", flag(triangle == 'L')),
        ("unit_diagonal", flag(diagonal == 'U')),
        ("transpose_a", form.attribute(context)),
    ];
    let operands = [op.operand(0)?, op.operand(1)?];
    let result = builder.insert(
        "stablehlo.triangular_solve",
        &operands,
        &attributes,
        operands[1].r#type(),
        op.location(),
    );
    replace(builder, op, &[result]);
    Ok(())
}

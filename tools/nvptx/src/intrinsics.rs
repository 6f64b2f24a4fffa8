// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Functions that a GPU has instructions for.
//!
//! MLIR's lowering of the gpu dialect calls libdevice for them, and refuses LLVM's own. Those are called by name here, which it lets
//! pass, so that absolute values and square roots need no CUDA.

use melior::ir::attribute::{DenseI32ArrayAttribute, StringAttribute};
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_passes::ir::Builder;
use slimhlo_passes::rewrite::walk;

/// The name of LLVM's function for an op, if a GPU computes that exactly.
fn native(name: &str) -> Option<&'static str> {
    Some(match name {
        "math.absf" | "llvm.intr.fabs" => "fabs",
        "math.ceil" | "llvm.intr.ceil" => "ceil",
        "math.copysign" | "llvm.intr.copysign" => "copysign",
        "math.floor" | "llvm.intr.floor" => "floor",
        "math.fma" | "llvm.intr.fma" => "fma",
        "math.round" | "llvm.intr.round" => "round",
        "math.roundeven" | "llvm.intr.roundeven" => "roundeven",
        "math.sqrt" | "llvm.intr.sqrt" => "sqrt",
        "math.trunc" | "llvm.intr.trunc" => "trunc",
        _ => return None,
    })
}

/// Replaces them in `root`.
pub fn call_by_name<'c: 'a, 'a>(root: OperationRef<'c, 'a>) {
    let mut found = Vec::new();
    walk(root, |op| {
        if let Some(function) = native(op_name(op)) {
            found.push((op, function));
        }
        WalkResult::Advance
    });
    let build = Builder::new(root);
    let context = build.context();
    for (op, function) in found {
        let Ok(result) = op.result(0) else { continue };
        let result: Value = result.into();
        let ty = result.r#type().to_string();
        // LLVM has them for these types only.
        if !["f16", "bf16", "f32", "f64"].contains(&ty.as_str()) {
            continue;
        }
        let operands: Vec<_> = op.operands().collect();
        let segments = [i32::try_from(operands.len()).unwrap_or(0), 0];
        let name = StringAttribute::new(context, &format!("llvm.{function}.{ty}"));
        build.set_insertion_point_before(op);
        let called = build.insert(
            "llvm.call_intrinsic",
            &operands,
            &[
                ("intrin", name.into()),
                ("op_bundle_sizes", DenseI32ArrayAttribute::new(context, &[]).into()),
                ("operandSegmentSizes", DenseI32ArrayAttribute::new(context, &segments).into()),
            ],
            result.r#type(),
            op.location(),
        );
        build.replace_all_uses_with(result, called);
        build.erase(op);
    }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Verification of the numbers of stablehlo attributes and types while they are being built.
//!
//! The C++ side (`lib/stablehlo/StablehloAttrs.cpp`) flattens them into integers: a list as its length and its elements,
//! a float as the bits of the double, an enum as its number, a kind of type or attribute as the code noted below.

use crate::types::is_static;
use std::fmt;

/// Receives what is wrong.
type Report<'a> = &'a mut dyn FnMut(&str);

/// Verifies the numbers of the attribute or type called `mnemonic` ("stablehlo.bounds"); every reason against it goes
/// to `report`. An unknown mnemonic has no constraints.
pub fn verify_parameters(mnemonic: &str, parameters: &[i64], report: &mut dyn FnMut(&str)) -> bool {
    let verdict = match mnemonic {
        "stablehlo.bounds" => bounds(parameters),
        "stablehlo.dot_algorithm" => dot_algorithm(parameters),
        "stablehlo.future" => future(parameters),
        "stablehlo.mesh" => mesh(parameters),
        "stablehlo.replica_group_mesh_axes" => replica_group_mesh_axes(parameters),
        "stablehlo.result_accuracy" => result_accuracy(parameters),
        _ => Ok(()),
    };
    verdict.map_err(|message| complain(mnemonic, &message, report)).is_ok()
}

fn complain(mnemonic: &str, message: &str, report: Report<'_>) {
    report(&format!("{mnemonic} {message}"));
}

type Verdict = Result<(), String>;

fn unexpected(parameters: &[i64]) -> String {
    format!("was handed {} parameters, which is an internal error of slimhlo", parameters.len())
}

/// Splits a length-prefixed list off.
fn list(parameters: &[i64]) -> Option<(&[i64], &[i64])> {
    let (&length, rest) = parameters.split_first()?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

/// Bounds and the shape of the tensor type they are put on.
fn bounds(parameters: &[i64]) -> Verdict {
    let (bounds, shape) = list(parameters)
        .and_then(|(bounds, rest)| {
            let (shape, rest) = list(rest)?;
            rest.is_empty().then_some((bounds, shape))
        })
        .ok_or_else(|| unexpected(parameters))?;
    if bounds.len() != shape.len() {
        return Err(format!("has {} entries, but the tensor type has rank {}", bounds.len(), shape.len()));
    }
    for (dim, (&bound, &size)) in bounds.iter().zip(shape).enumerate() {
        if is_static(bound) && is_static(size) {
            return Err(format!(
                "gives bound {bound} to dimension {dim}, which has the static size {size}; write ? there"
            ));
        }
    }
    Ok(())
}

/// What a dot algorithm may compute in. The C++ side numbers them, all 8-bit floats of at least 3 exponent bits alike.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PrecisionType {
    F8,
    Bf16,
    F16,
    Tf32,
    F32,
    F64,
    Other,
}

impl PrecisionType {
    fn from_code(code: i64) -> Self {
        match code {
            1 => Self::F8,
            2 => Self::Bf16,
            3 => Self::F16,
            4 => Self::Tf32,
            5 => Self::F32,
            6 => Self::F64,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for PrecisionType {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Self::F8 => "an f8",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::Tf32 => "tf32",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Other => "another type",
        })
    }
}

/// Left, right and accumulation type, component counts, number of primitive operations, imprecise accumulation.
fn dot_algorithm(parameters: &[i64]) -> Verdict {
    use PrecisionType::{Bf16, F8, F16, F32, F64, Tf32};
    let &[lhs, rhs, accumulation, lhs_components, rhs_components, operations, imprecise] = parameters else {
        return Err(unexpected(parameters));
    };
    for (key, count) in [
        ("lhs_component_count", lhs_components),
        ("rhs_component_count", rhs_components),
        ("num_primitive_operations", operations),
    ] {
        if count <= 0 {
            return Err(format!("has {key} = {count}, which is not positive"));
        }
    }
    let [lhs, rhs, accumulation] = [lhs, rhs, accumulation].map(PrecisionType::from_code);
    // The combinations that some device is known to compute; everything else is refused when text is read, too.
    let known = match (lhs, rhs, accumulation) {
        (F8, F8, F32) => operations == 1,
        (Bf16, Bf16, Bf16) | (F16, F16, F16 | F32) | (F32, F32, F32) | (F64, F64, F64) => {
            operations == 1 && imprecise == 0
        }
        (Bf16, Bf16, F32) => matches!(operations, 1 | 3 | 6 | 9) && imprecise == 0,
        (Tf32, Tf32, F32) => matches!(operations, 1 | 3) && imprecise == 0,
        _ => false,
    };
    if known && lhs_components == 1 && rhs_components == 1 {
        return Ok(());
    }
    Err(format!(
        "is not known to run on any device with lhs_precision_type {lhs}, rhs_precision_type {rhs}, \
         accumulation_type {accumulation}, lhs_component_count = {lhs_components}, \
         rhs_component_count = {rhs_components}, num_primitive_operations = {operations}, \
         allow_imprecise_accumulation = {}",
        imprecise != 0
    ))
}

/// For each element whether it is a ranked tensor.
fn future(parameters: &[i64]) -> Verdict {
    match parameters.iter().position(|&is_tensor| is_tensor == 0) {
        Some(index) => Err(format!("has element #{index} that is not a ranked tensor")),
        None => Ok(()),
    }
}

/// The number of axes.
fn mesh(parameters: &[i64]) -> Verdict {
    if parameters == [0] { Err("has no axes".into()) } else { Ok(()) }
}

/// Whether `mesh` is a mesh or the name of one; then, of a mesh, the place of each axis in it, -1 for an axis it does not
/// have and -2 for what is no axis.
fn replica_group_mesh_axes(parameters: &[i64]) -> Verdict {
    let Some((&is_mesh, axes)) = parameters.split_first() else { return Err(unexpected(parameters)) };
    if is_mesh == 0 {
        return Err("has a mesh that is neither a flat symbol reference nor #stablehlo.mesh".into());
    }
    for (index, place) in axes.iter().enumerate() {
        match place {
            -1 => return Err(format!("has an axes[{index}] that the mesh does not have")),
            -2 => return Err(format!("has an axes[{index}] that is no #stablehlo.axis_ref")),
            _ => {}
        }
    }
    Ok(())
}

/// Absolute and relative tolerance, ulps, mode.
fn result_accuracy(parameters: &[i64]) -> Verdict {
    let &[atol, rtol, ulps, mode] = parameters else { return Err(unexpected(parameters)) };
    let [atol, rtol] = [atol, rtol].map(|bits| f64::from_bits(bits.cast_unsigned()));
    for (key, tolerance) in [("atol", atol), ("rtol", rtol)] {
        if tolerance.is_sign_negative() {
            return Err(format!("has {key} = {tolerance:?}, which is negative"));
        }
    }
    if ulps < 0 {
        return Err(format!("has ulps = {ulps}, which is negative"));
    }
    // Mode TOLERANCE; the others name an implementation and leave no room for numbers.
    const TOLERANCE: i64 = 2;
    if mode != TOLERANCE && (atol != 0.0 || rtol != 0.0 || ulps != 0) {
        return Err(format!(
            "has atol = {atol:?}, rtol = {rtol:?}, ulps = {ulps}, which must be zero unless the mode is TOLERANCE"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DYNAMIC;

    fn verdict(mnemonic: &str, parameters: &[i64]) -> Vec<String> {
        let mut messages = Vec::new();
        let valid = verify_parameters(mnemonic, parameters, &mut |message| messages.push(message.into()));
        assert_eq!(valid, messages.is_empty());
        messages
    }

    #[test]
    fn bounds_stand_on_dynamic_dimensions_only() {
        assert!(verdict("stablehlo.bounds", &[2, 3, DYNAMIC, 2, DYNAMIC, 7]).is_empty());
        assert!(verdict("stablehlo.bounds", &[0, 0]).is_empty());
        assert_eq!(
            verdict("stablehlo.bounds", &[2, DYNAMIC, 3, 2, DYNAMIC, 7]),
            ["stablehlo.bounds gives bound 3 to dimension 1, which has the static size 7; write ? there"]
        );
        assert_eq!(
            verdict("stablehlo.bounds", &[1, 3, 2, DYNAMIC, DYNAMIC]),
            ["stablehlo.bounds has 1 entries, but the tensor type has rank 2"]
        );
    }

    #[test]
    fn malformed_parameters_are_an_error_and_no_panic() {
        for name in ["bounds", "dot_algorithm", "result_accuracy"] {
            for parameters in [&[][..], &[9], &[-1, 4], &[1, 2, i64::MAX]] {
                assert_eq!(verdict(&format!("stablehlo.{name}"), parameters).len(), 1);
            }
        }
    }

    #[test]
    fn dot_algorithms_are_those_devices_have() {
        let valid = |parameters: [i64; 7]| verdict("stablehlo.dot_algorithm", &parameters).is_empty();
        for operations in 1..16 {
            assert_eq!(valid([2, 2, 5, 1, 1, operations, 0]), [1, 3, 6, 9].contains(&operations));
            assert_eq!(valid([4, 4, 5, 1, 1, operations, 0]), [1, 3].contains(&operations));
            assert_eq!(valid([5, 5, 5, 1, 1, operations, 0]), operations == 1);
        }
        assert!(valid([1, 1, 5, 1, 1, 1, 1]) && !valid([5, 5, 5, 1, 1, 1, 1]));
        assert!(!valid([2, 2, 5, 3, 3, 6, 0]) && !valid([0, 0, 0, 1, 1, 1, 0]));
        assert_eq!(
            verdict("stablehlo.dot_algorithm", &[5, 5, 5, 0, 1, 1, 0]),
            ["stablehlo.dot_algorithm has lhs_component_count = 0, which is not positive"]
        );
    }

    #[test]
    fn tolerances_are_for_mode_tolerance() {
        let valid = |atol: f64, ulps: i64, mode: i64| {
            verdict("stablehlo.result_accuracy", &[atol.to_bits().cast_signed(), 0, ulps, mode]).is_empty()
        };
        assert!(valid(1.5, 3, 2) && valid(0.0, 0, 0) && valid(f64::NAN, 0, 2));
        assert!(!valid(1.5, 0, 0) && !valid(0.0, 1, 1) && !valid(-0.0, 0, 2) && !valid(0.0, -1, 2));
    }
}

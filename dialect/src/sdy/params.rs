// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Verification of the numbers inside attributes.

use super::edges;
use crate::view::{OpError, Verdict};
use crate::{reject, require};

/// Verifies the integer parameters of the attribute called `mnemonic`; says what is wrong through `report`.
pub fn verify_parameters(mnemonic: &str, parameters: &[i64], report: &mut dyn FnMut(&str)) -> bool {
    let verdict = match (mnemonic, parameters) {
        ("sdy.mesh_axis", &[size]) => verify_axis_size(size),
        ("sdy.mesh", parameters) => verify_mesh(parameters),
        ("sdy.propagation_edges", parameters) => edges::verify_parameters(parameters),
        _ => Err(OpError(format!("{mnemonic} was not expected to need verification"))),
    };
    verdict.map_err(|OpError(message)| report(&message)).is_ok()
}

fn verify_axis_size(size: i64) -> Verdict {
    require!(size >= 1, "mesh axis size {size} must be at least 1");
    Ok(())
}

/// The number of axes; for each, its size and the index of the first axis of the same name; device ids.
fn verify_mesh(parameters: &[i64]) -> Verdict {
    let Some((&axis_count, rest)) = parameters.split_first() else { reject!("mesh has no parameters") };
    let split = usize::try_from(axis_count).ok().and_then(|count| count.checked_mul(2));
    let Some((axes, device_ids)) = split.and_then(|middle| rest.split_at_checked(middle)) else {
        reject!("mesh has fewer parameters than its {axis_count} axes need")
    };
    let mut device_count = Some(1i64);
    for (index, axis) in axes.chunks_exact(2).enumerate() {
        let (size, first) = (axis[0], axis[1]);
        verify_axis_size(size)?;
        require!(usize::try_from(first) == Ok(index), "mesh axes #{first} and #{index} have the same name");
        device_count = device_count.and_then(|count| count.checked_mul(size));
    }
    if device_ids.is_empty() {
        return Ok(());
    }
    if let Some(id) = device_ids.iter().find(|id| **id < 0) {
        reject!("mesh has device id {id}, which is negative");
    }
    if axes.is_empty() {
        require!(
            device_ids.len() == 1,
            "mesh without axes has {} device ids, but may have one at most",
            device_ids.len()
        );
        return Ok(());
    }
    let Some(device_count) = device_count else { reject!("mesh has more devices than 64 bits can count") };
    require!(
        i64::try_from(device_ids.len()) == Ok(device_count),
        "mesh has {} device ids, but its axes make {device_count} devices",
        device_ids.len()
    );
    let mut sorted = device_ids.to_vec();
    sorted.sort_unstable();
    if let Some((expected, found)) = (0..).zip(&sorted).find(|(expected, found)| expected != *found) {
        reject!(
            "mesh must have each device id from 0 to {} once, but {found} takes the place of {expected}",
            device_count - 1
        );
    }
    require!(device_ids != sorted, "mesh lists device ids that count up, which must be left out");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a mesh, empty if nothing is.
    fn mesh(parameters: &[i64]) -> String {
        let mut said = String::new();
        let valid = verify_parameters("sdy.mesh", parameters, &mut |message| said.push_str(message));
        assert_eq!(valid, said.is_empty());
        said
    }

    #[test]
    fn meshes_have_one_device_per_place() {
        assert_eq!(mesh(&[0]), "");
        assert_eq!(mesh(&[0, 7]), "");
        assert_eq!(mesh(&[2, 2, 0, 4, 1]), "");
        assert_eq!(mesh(&[1, 2, 0, 1, 0]), "");
        assert_eq!(mesh(&[1, 2, 0, 0, 1]), "mesh lists device ids that count up, which must be left out");
        assert_eq!(
            mesh(&[1, 2, 0, 3, 1]),
            "mesh must have each device id from 0 to 1 once, but 1 takes the place of 0"
        );
        assert_eq!(mesh(&[1, 2, 0, 3]), "mesh has 1 device ids, but its axes make 2 devices");
        assert_eq!(mesh(&[0, 1, 2]), "mesh without axes has 2 device ids, but may have one at most");
        assert_eq!(mesh(&[2, 2, 0, 2, 0]), "mesh axes #0 and #1 have the same name");
        assert_eq!(mesh(&[1, 0, 0]), "mesh axis size 0 must be at least 1");
        assert_eq!(mesh(&[2, i64::MAX, 0, 2, 1, 5]), "mesh has more devices than 64 bits can count");
        assert_eq!(mesh(&[3, 2, 0]), "mesh has fewer parameters than its 3 axes need");
    }

    #[test]
    fn propagation_steps_have_different_indices_and_targets() {
        let mut said = Vec::new();
        let mut edges = |parameters: &[i64]| {
            verify_parameters("sdy.propagation_edges", parameters, &mut |message| {
                said.push(message.to_owned())
            })
        };
        assert!(edges(&[0, 1, 0, 0, 1, 1, 0]));
        assert!(!edges(&[-1, 1, 0, 0, 1, 1, 0]));
        assert!(!edges(&[0, 0, 0, 0]));
        assert!(!edges(&[0, 1, 0, 0, 1, 0, 0]));
        assert!(!edges(&[0, 1, 0, 0, 2, 1, 0, 1, 0]));
        assert!(!edges(&[0, 1, 0, 0, 2, 1, 0]));
        assert_eq!(said.len(), 5);
    }
}

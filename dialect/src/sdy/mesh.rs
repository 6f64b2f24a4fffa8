// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Arithmetic of axes: what a reference to an axis means on a given mesh, and how references combine.

use super::attrs::{AxisRef, List, Mesh};
use crate::view::OpError;
use crate::{reject, require};

/// A part of an axis of a mesh: of the devices along the axis, every group of `size` steps of
/// `axis size / (before * size)` devices. The whole axis is `before == 1` and its full size.
///
/// Ordered as shardings that have a fixed order list them: by axis, then from major to minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Index of the axis in the mesh.
    pub axis: usize,
    /// Product of the sizes of what is more major in the same axis.
    pub before: i64,
    /// How many pieces a dimension is cut into along it.
    pub size: i64,
}

impl Part {
    /// Product of the sizes of everything up to and including this part.
    fn end(self) -> i64 {
        // Cannot overflow: a resolved part's end divides the size of its axis.
        self.before * self.size
    }

    /// Whether the two share devices' steps.
    pub fn overlaps(self, other: Self) -> bool {
        let same_place = self.before == other.before && self.size == other.size;
        self.axis == other.axis && (same_place || (self.before < other.end() && other.before < self.end()))
    }

    /// Whether `next` continues this part, so that both together are one part.
    fn continues_with(self, next: Self) -> bool {
        self.axis == next.axis && next.before > 1 && self.end() == next.before
    }
}

/// A mesh with its axes read out.
#[derive(Clone)]
pub struct Axes<'c> {
    /// The mesh.
    pub mesh: Mesh<'c>,
    axes: Vec<(&'c str, i64)>,
}

impl<'c> Axes<'c> {
    /// Reads the axes of `mesh`.
    pub fn new(mesh: Mesh<'c>) -> Self {
        Self { mesh, axes: mesh.axes().iter().map(|axis| (axis.name(), axis.size())).collect() }
    }

    /// Whether there is an axis of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.size(name).is_some()
    }

    /// Number of devices along the axis of this name.
    pub fn size(&self, name: &str) -> Option<i64> {
        self.axes.iter().find(|(axis, _)| *axis == name).map(|&(_, size)| size)
    }

    /// The part of this mesh that `reference` means.
    ///
    /// # Errors
    /// The mesh has no such axis, or the part is none: less than 2, all of the axis, or no divisor of it.
    pub fn resolve(&self, reference: AxisRef<'c>) -> Result<Part, OpError> {
        let name = reference.name();
        let Some(axis) = self.axes.iter().position(|(axis, _)| *axis == name) else {
            reject!("names axis \"{name}\", which the mesh {} does not have", self.mesh)
        };
        let full = self.axes[axis].1;
        let Some(info) = reference.sub_axis_info() else { return Ok(Part { axis, before: 1, size: full }) };
        let (before, size) = (info.pre_size(), info.size());
        require!(before >= 1, "sub-axis \"{name}\":({before}){size} has pre-size {before}, less than 1");
        require!(size > 1, "sub-axis \"{name}\":({before}){size} has size {size}, which must be more than 1");
        require!(
            before.checked_mul(size).is_some_and(|end| full % end == 0),
            "sub-axis \"{name}\":({before}){size} does not divide axis \"{name}\" of size {full}"
        );
        require!(
            size != full,
            "sub-axis \"{name}\":({before}){size} is the whole axis \"{name}\" of size {full}"
        );
        Ok(Part { axis, before, size })
    }

    /// Resolves a list of axes that stand next to each other; two of them that make one part must be written as one.
    ///
    /// # Errors
    /// What [`Self::resolve`] says, or two neighbours that make one part.
    pub fn resolve_list(&self, references: List<'c, AxisRef<'c>>) -> Result<Vec<Part>, OpError> {
        let mut parts: Vec<Part> = Vec::with_capacity(references.len());
        for reference in references.iter() {
            let part = self.resolve(reference)?;
            if let Some(&last) = parts.last() {
                require!(
                    !last.continues_with(part),
                    "sub-axes {} and {} follow each other and must be written as one",
                    self.show(last),
                    self.show(part)
                );
            }
            parts.push(part);
        }
        Ok(parts)
    }

    /// Rejects a part that is in more than one of the lists, or twice in one.
    ///
    /// # Errors
    /// The part that is there twice.
    pub fn check_disjoint<'p>(&self, lists: impl IntoIterator<Item = &'p [Part]>) -> Result<(), OpError> {
        let mut seen: Vec<Part> = Vec::new();
        for &part in lists.into_iter().flatten() {
            if let Some(&other) = seen.iter().find(|other| other.overlaps(part)) {
                if other == part {
                    reject!("uses axis {} more than once", self.show(part));
                }
                reject!("uses {} and {}, which overlap", self.show(other), self.show(part));
            }
            seen.push(part);
        }
        Ok(())
    }

    /// Rejects parts that are not in the order of the mesh; `what` names the list.
    ///
    /// # Errors
    /// The two parts that are in the wrong order.
    pub fn check_sorted(&self, parts: &[Part], what: &str) -> Result<(), OpError> {
        for pair in parts.windows(2) {
            require!(
                pair[0] < pair[1],
                "{what} {} and {} are not in the order of the mesh",
                self.show(pair[0]),
                self.show(pair[1])
            );
        }
        Ok(())
    }

    /// A part as it is written.
    pub fn show(&self, part: Part) -> String {
        let (name, full) = self.axes[part.axis];
        if part.size == full {
            format!("\"{name}\"")
        } else {
            format!("\"{name}\":({}){}", part.before, part.size)
        }
    }

    /// A list of parts as it is written.
    pub fn show_list(&self, parts: &[Part]) -> String {
        let parts: Vec<String> = parts.iter().map(|&part| self.show(part)).collect();
        format!("{{{}}}", parts.join(", "))
    }
}

/// Cuts further along `part`.
pub fn append(parts: &mut Vec<Part>, part: Part) {
    match parts.last_mut() {
        Some(last) if last.continues_with(part) => last.size *= part.size,
        _ => parts.push(part),
    }
}

/// Undoes a cut along `part`; whether that was the most minor one.
pub fn remove_suffix(parts: &mut Vec<Part>, part: Part) -> bool {
    let Some(last) = parts.last_mut() else { return false };
    if last.axis != part.axis || last.end() != part.end() || part.before % last.before != 0 {
        return false;
    }
    match part.before / last.before {
        0 => return false,
        1 => {
            parts.pop();
        }
        left => last.size = left,
    }
    true
}

/// The parts in the order of the mesh, those that make one part put together.
pub fn normalized(mut parts: Vec<Part>) -> Vec<Part> {
    parts.sort_unstable();
    let mut joined = Vec::with_capacity(parts.len());
    for part in parts {
        append(&mut joined, part);
    }
    joined
}

/// Whether any two parts of the two lists share devices' steps; gives the first such part of `left`.
pub fn first_overlap(left: &[Part], right: impl IntoIterator<Item = Part> + Clone) -> Option<Part> {
    left.iter().copied().find(|&part| right.clone().into_iter().any(|other| part.overlaps(other)))
}

/// Number of pieces that a list of parts cuts a dimension into.
pub fn piece_count(parts: &[Part]) -> i64 {
    parts.iter().fold(1i64, |count, part| count.saturating_mul(part.size))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn part(axis: usize, before: i64, size: i64) -> Part {
        Part { axis, before, size }
    }

    #[test]
    fn parts_overlap_where_they_share_steps() {
        assert!(part(0, 1, 4).overlaps(part(0, 2, 2)));
        assert!(!part(0, 1, 2).overlaps(part(0, 2, 2)));
        assert!(!part(0, 1, 8).overlaps(part(1, 1, 8)));
        // An axis of size 1 has no steps to share, but is still used twice.
        assert!(part(0, 1, 1).overlaps(part(0, 1, 1)));
    }

    #[test]
    fn appending_joins_what_continues() {
        let mut parts = vec![part(1, 1, 4), part(0, 1, 2)];
        append(&mut parts, part(0, 2, 2));
        assert_eq!(parts, [part(1, 1, 4), part(0, 1, 4)]);
        append(&mut parts, part(0, 8, 2));
        assert_eq!(parts, [part(1, 1, 4), part(0, 1, 4), part(0, 8, 2)]);
    }

    #[test]
    fn only_a_suffix_can_be_removed() {
        let mut parts = vec![part(1, 1, 4), part(0, 1, 8)];
        assert!(!remove_suffix(&mut parts, part(0, 1, 2)));
        assert!(!remove_suffix(&mut parts, part(1, 1, 4)));
        assert!(remove_suffix(&mut parts, part(0, 4, 2)));
        assert_eq!(parts, [part(1, 1, 4), part(0, 1, 4)]);
        assert!(remove_suffix(&mut parts, part(0, 1, 4)));
        assert_eq!(parts, [part(1, 1, 4)]);
        assert!(!remove_suffix(&mut Vec::new(), part(0, 1, 2)));
    }

    #[test]
    fn normalizing_sorts_and_joins() {
        assert_eq!(
            normalized(vec![part(1, 2, 2), part(0, 1, 2), part(1, 1, 2)]),
            [part(0, 1, 2), part(1, 1, 4)]
        );
    }

    #[test]
    fn pieces_multiply() {
        assert_eq!(piece_count(&[]), 1);
        assert_eq!(piece_count(&[part(0, 1, 4), part(1, 2, 3)]), 12);
    }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Windows that slide over a tensor: what convolution, `reduce_window` and `select_and_scatter` share.

use super::matrix::padding;
use crate::dims::Dim;
use crate::require;
use crate::types::{DYNAMIC, is_static};
use crate::view::{OpError, OpView, Verdict};

/// The window along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowDim {
    /// Number of elements, or [`DYNAMIC`].
    pub size: i64,
    /// How far the window moves at a time.
    pub stride: i64,
    /// Elements added before the first; negative ones are cut off.
    pub padding_low: i64,
    /// Elements added after the last; negative ones are cut off.
    pub padding_high: i64,
    /// Distance between elements of the window.
    pub window_dilation: i64,
    /// Distance between elements of the tensor once holes are put between them.
    pub base_dilation: i64,
}

impl WindowDim {
    /// How many places the window has on a dimension of this size. The arithmetic wraps where sizes are absurd.
    pub fn places(&self, base: i64) -> i64 {
        if !is_static(base) || !is_static(self.size) {
            return DYNAMIC;
        }
        let padded =
            self.padding_low.wrapping_add(dilated(base, self.base_dilation)).wrapping_add(self.padding_high);
        let window = dilated(self.size, self.window_dilation);
        if padded == 0 || window > padded {
            return 0;
        }
        padded.wrapping_sub(window).wrapping_div(self.stride).wrapping_add(1)
    }

    /// The dimension that has one element per place of the window.
    pub fn slide(&self, base: Dim) -> Dim {
        if base.is_static() { Dim::of(self.places(base.size)) } else { Dim::bounded(self.places(base.bound)) }
    }
}

fn dilated(size: i64, dilation: i64) -> i64 {
    if size == 0 { 0 } else { size.wrapping_sub(1).wrapping_mul(dilation).wrapping_add(1) }
}

/// What an op calls the attributes of its window; the window's size comes from elsewhere. `None` for those it lacks.
#[derive(Clone, Copy)]
pub struct WindowAttributes {
    /// Strides.
    pub strides: &'static str,
    /// Padding, a `Nx2` elements attribute.
    pub padding: Option<&'static str>,
    /// Dilation of the tensor.
    pub base_dilations: Option<&'static str>,
    /// Dilation of the window.
    pub window_dilations: Option<&'static str>,
    /// Reversal of the window.
    pub reversal: Option<&'static str>,
}

impl WindowAttributes {
    /// Reads and verifies a window of these sizes. Attributes that are missing or empty have one neutral entry per
    /// dimension.
    pub fn read(&self, op: &OpView<'_, '_>, sizes: &[i64]) -> Result<Vec<WindowDim>, OpError> {
        let count = sizes.len();
        let strides = factors(op, Some(self.strides), count)?;
        let base_dilations = factors(op, self.base_dilations, count)?;
        let window_dilations = factors(op, self.window_dilations, count)?;
        if let Some(name) = self.reversal {
            let reversed = op.optional_bool_array(name)?.unwrap_or_default().len();
            one_per_dimension(name, reversed, count)?;
        }
        let padding = match self.padding {
            Some(name) => padding(op, name, count)?.unwrap_or_default(),
            None => Vec::new(),
        };
        for (index, &size) in sizes.iter().enumerate() {
            require!(
                !is_static(size) || size > 0,
                "the window has size {size} in dimension {index}, not a positive one"
            );
        }
        let dims = sizes.iter().enumerate().map(|(index, &size)| {
            let (padding_low, padding_high) = padding.get(index).copied().unwrap_or_default();
            WindowDim {
                size,
                stride: strides[index],
                padding_low,
                padding_high,
                window_dilation: window_dilations[index],
                base_dilation: base_dilations[index],
            }
        });
        Ok(dims.collect())
    }
}

/// Strides or dilations: positive, one per dimension, all 1 where the attribute is missing or empty.
fn factors(op: &OpView<'_, '_>, name: Option<&str>, count: usize) -> Result<Vec<i64>, OpError> {
    let Some(name) = name else { return Ok(vec![1; count]) };
    let list = op.optional_i64_array(name)?.unwrap_or_default();
    if list.is_empty() {
        return Ok(vec![1; count]);
    }
    one_per_dimension(name, list.len(), count)?;
    for (index, &factor) in list.iter().enumerate() {
        require!(factor > 0, "{name}[{index}] = {factor} is not positive");
    }
    Ok(list.to_vec())
}

fn one_per_dimension(name: &str, entries: usize, dimensions: usize) -> Verdict {
    require!(
        entries == 0 || entries == dimensions,
        "{name} has {entries} entries, but the window has {dimensions} dimensions"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: WindowDim = WindowDim {
        size: 3,
        stride: 1,
        padding_low: 0,
        padding_high: 0,
        window_dilation: 1,
        base_dilation: 1,
    };

    #[test]
    fn places_of_a_window() {
        assert_eq!(PLAIN.places(5), 3);
        assert_eq!(PLAIN.places(2), 0);
        assert_eq!(PLAIN.places(0), 0);
        assert_eq!(WindowDim { stride: 2, ..PLAIN }.places(6), 2);
        assert_eq!(WindowDim { padding_low: 2, padding_high: -1, ..PLAIN }.places(5), 4);
        assert_eq!(WindowDim { window_dilation: 2, ..PLAIN }.places(5), 1);
        assert_eq!(WindowDim { base_dilation: 2, ..PLAIN }.places(5), 7);
    }

    #[test]
    fn what_is_not_known_stays_so() {
        assert_eq!(PLAIN.places(DYNAMIC), DYNAMIC);
        assert_eq!(PLAIN.slide(Dim::bounded(5)), Dim::bounded(3));
        assert_eq!(WindowDim { size: DYNAMIC, ..PLAIN }.slide(Dim::of(5)), Dim::UNKNOWN);
    }

    #[test]
    fn absurd_sizes_do_not_panic() {
        let absurd = WindowDim {
            stride: i64::MAX,
            padding_low: i64::MAX,
            padding_high: i64::MAX,
            window_dilation: i64::MAX,
            base_dilation: i64::MAX,
            ..PLAIN
        };
        for base in [0, 1, i64::MAX, i64::MAX / 2] {
            absurd.places(base);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Windows that slide over a tensor, as index arithmetic.

use crate::gpu::emit::code::{Code, Int};
use crate::ir;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::ffi;

/// The window along one dimension.
#[derive(Clone, Copy, Debug)]
pub struct WindowDim {
    /// Elements of the window.
    pub size: i64,
    /// Elements that it moves at a time.
    pub stride: i64,
    /// Elements before the first; negative ones are cut off.
    pub low: i64,
    /// Distance of the window's elements.
    pub dilation: i64,
    /// Distance of the tensor's elements.
    pub base_dilation: i64,
    /// Whether the window is gone over from its end.
    pub reversed: bool,
}

/// Names of the attributes that the two kinds of ops with windows have.
pub enum Names {
    /// `reduce_window` and `select_and_scatter`.
    Reduce,
    /// `convolution`.
    Convolution,
}

/// The window of an op, of these sizes.
pub fn read(op: OperationRef<'_, '_>, sizes: &[i64], names: &Names) -> Vec<WindowDim> {
    let (base, window) = match names {
        Names::Reduce => ("base_dilations", "window_dilations"),
        Names::Convolution => ("lhs_dilation", "rhs_dilation"),
    };
    let list = |name: &str| ir::i64_array(op, name).unwrap_or_default();
    let (strides, base, window) = (list("window_strides"), list(base), list(window));
    let padding = ffi::attribute_of(op, "padding").and_then(Dense::new);
    let padding =
        |index: usize| padding.as_ref().and_then(|padding| padding.integer(index)).unwrap_or_default();
    let reversal =
        ffi::attribute_of(op, "window_reversal").and_then(ffi::dense_bool_array).unwrap_or_default();
    let of = |list: &[i64], dim: usize| list.get(dim).copied().unwrap_or(1);
    let dims = sizes.iter().enumerate().map(|(dim, &size)| WindowDim {
        size,
        stride: of(strides, dim),
        low: padding(2 * dim),
        dilation: of(window, dim),
        base_dilation: of(base, dim),
        reversed: reversal.get(dim).copied().unwrap_or_default(),
    });
    dims.collect()
}

impl WindowDim {
    /// Which element of a dimension of `size` elements the window's element `inside` lies on when the window is at `at`
    /// of `places`, and whether it lies on one at all (`None`: always does).
    pub fn position<'c, 'a>(
        &self,
        code: &Code<'c, 'a>,
        at: Value<'c, 'a>,
        inside: Value<'c, 'a>,
        size: i64,
        places: i64,
    ) -> (Value<'c, 'a>, Option<Value<'c, 'a>>) {
        let at = code.mul(at, code.index(self.stride));
        let inside = code.mul(inside, code.index(self.dilation));
        let padded = code.add(at, inside);
        let position = code.sub(padded, code.index(self.low));
        let limit = (size - 1) * self.base_dilation + 1;
        let last = (places - 1) * self.stride + (self.size - 1) * self.dilation - self.low;
        let within = self.low > 0 || last >= limit;
        // Positions before the first are large numbers without a sign.
        let within = within.then(|| code.compare(Int::Ult, position, code.index(limit)));
        if self.base_dilation == 1 {
            return (position, within);
        }
        let rest = code.rem(position, self.base_dilation);
        let on_element = code.compare(Int::Eq, rest, code.index(0));
        let on_element = match within {
            Some(within) => code.binary("arith.andi", within, on_element),
            None => on_element,
        };
        (code.div(position, self.base_dilation), Some(on_element))
    }
}

/// Both conditions.
pub fn both<'c, 'a>(
    code: &Code<'c, 'a>,
    left: Option<Value<'c, 'a>>,
    right: Option<Value<'c, 'a>>,
) -> Option<Value<'c, 'a>> {
    match (left, right) {
        (Some(left), Some(right)) => Some(code.binary("arith.andi", left, right)),
        (left, right) => left.or(right),
    }
}

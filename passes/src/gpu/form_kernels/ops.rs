// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What each op is to the formation of kernels, and what one element of it costs.

use crate::framework::PassError;
use crate::gpu::emit::roots;
use crate::ir;
use crate::ops::class::is_collective;
use crate::target::Rates;
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::dense;
use slimhlo_dialect::ffi::{attribute_of, op_name};
use slimhlo_dialect::quant::Quantized;
use slimhlo_dialect::types::{Tensor, is_static};

/// What an op is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A constant that kernels contain: a splat, or few elements.
    Constant,
    /// A constant that is a buffer.
    Table,
    /// `iota`
    Iota,
    /// One element of each operand, at the same place (or of rank 0), for one of the result.
    Pointwise,
    /// One element of the first operand, at a place that depends on the result's and on the other operands (scalars).
    Move,
    /// `reshape`: the same bytes.
    View,
    /// `pad`
    Pad,
    /// `concatenate`
    Join,
    /// `dynamic_update_slice` that is marked ([`ON_THE_FLY`]): an element of the update, or the operand's at the same
    /// place.
    Put,
    /// `gather`
    Gather,
    /// Needs a kernel of this kind.
    Root(&'static str),
    /// `while`, `if`, `case`
    Control,
    /// The last op of a block.
    Terminator,
}

/// Operations that take as long as the traffic of one byte: 16 on an H100. Each is counted with what it takes on, an
/// address or a comparison, so that there are more of them than the chip has steps.
pub fn flops_per_byte(rates: &Rates) -> f64 {
    1.45 * rates.elementwise / rates.bytes
}

/// What marks an update that is computed on the fly: its operand is in no buffer (`decompose/copied.rs`).
pub const ON_THE_FLY: &str = "slimhlo.on_the_fly";

/// Constants of no more elements than this are computed.
const TINY: i64 = 16;

impl Class {
    /// The class of an op; an error for one that no kernel can be made of.
    ///
    /// # Errors
    /// No kernel can be made of it; the error says why, or which type of a value is to blame.
    pub fn of<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<Self, PassError<'c>> {
        let name = op_name(op);
        let refuse = |reason: &str| Err(PassError::at(op, format!("cannot become a GPU kernel: {reason}")));
        let (dialect, local) = name.split_once('.').unwrap_or(("", name));
        let class = match (dialect, local) {
            ("stablehlo" | "func", "return") => return Ok(Self::Terminator),
            ("stablehlo", "while" | "if" | "case") => Self::Control,
            ("stablehlo" | "chlo", _) => match local {
                "constant" => match constant_class(op) {
                    Some(class) => class,
                    None => return refuse("its elements are not in the module"),
                },
                "iota" => Self::Iota,
                "reshape" => Self::View,
                "pad" => Self::Pad,
                "concatenate" => Self::Join,
                "gather" => Self::Gather,
                "broadcast_in_dim" | "broadcast" | "transpose" | "slice" | "reverse" | "dynamic_slice" => {
                    Self::Move
                }
                "reduce" => Self::Root("reduce"),
                "scatter" => Self::Root("scatter"),
                "dynamic_update_slice" if attribute_of(op, ON_THE_FLY).is_some() => Self::Put,
                "dynamic_update_slice" => Self::Root("update"),
                "sort" => Self::Root("sort"),
                "dot_general" | "dot" => Self::Root("dot"),
                "convolution" => Self::Root("convolution"),
                "reduce_window" => Self::Root("reduce_window"),
                "select_and_scatter" => Self::Root("select_and_scatter"),
                // Kernels keep nothing from one run to the next: each run, and each round of a loop, would draw the
                // same numbers.
                "rng" => {
                    return refuse(
                        "its numbers are for an implementation with a state of its own to choose; use \
                         rng_bit_generator, whose state is an argument",
                    );
                }
                "rng_bit_generator" => Self::Root("rng"),
                "fft" => Self::Root("fft"),
                "cholesky" => Self::Root("cholesky"),
                "triangular_solve" => Self::Root("triangular_solve"),
                _ if flops_of(local.strip_prefix("broadcast_").unwrap_or(local)).is_some() => Self::Pointwise,
                _ if is_collective(local)
                    || matches!(local, "cross-replica-sum" | "partition_id" | "replica_id") =>
                {
                    return refuse("collectives are not supported; compile the program for one device");
                }
                "custom_call" => {
                    let target = attribute_of(op, "call_target_name")
                        .map_or_else(String::new, |target| target.to_string());
                    return refuse(&format!("the code of the custom call {target} is not in the module"));
                }
                "infeed" | "outfeed" | "send" | "recv" | "after_all" | "create_token" => {
                    return refuse("kernels neither talk to the host nor to other devices");
                }
                "map" => return refuse("its region has an op that is not elementwise on scalars"),
                "tuple" | "get_tuple_element" => return refuse("tuples are not supported"),
                _ if local.starts_with("dynamic_")
                    || local == "real_dynamic_slice"
                    || local == "get_dimension_size"
                    || local == "set_dimension_size" =>
                {
                    return refuse("shapes that are known only when it runs are not supported");
                }
                _ => return refuse("the op is not supported"),
            },
            ("func", "call") => return refuse("the function it calls cannot be inlined"),
            _ => return refuse("the op is of a dialect that is not supported"),
        };
        for value in op.operands().chain(op.results().map(Value::from)) {
            check_type(value.r#type())
                .map_err(|reason| PassError::at(op, format!("cannot become a GPU kernel: {reason}")))?;
        }
        Ok(class)
    }

    /// Steps in which it is found out where an element of it comes from: a comparison and a choice for each border
    /// between its parts.
    pub fn choosing(self, op: OperationRef<'_, '_>) -> f64 {
        const BORDER: f64 = 3.0;
        let borders = match self {
            Self::Join => op.operand_count().saturating_sub(1),
            Self::Pad | Self::Put => 2,
            _ => 0,
        };
        BORDER * borders as f64
    }

    /// Whether one element of it can be computed wherever it is needed.
    pub fn is_on_the_fly(self) -> bool {
        !matches!(self, Self::Table | Self::Root(_) | Self::Control | Self::Terminator)
    }
}

/// Whether an op that is computed on the fly reads an operand just where its result is.
pub fn is_alike(class: Class, op: OperationRef<'_, '_>, operand: usize) -> bool {
    let elements = |value: Option<Value<'_, '_>>| value.map(|value| size_of(value).0);
    let same = || elements(op.operands().nth(operand)) == elements(op.results().next().map(Value::from));
    match class {
        Class::Pointwise | Class::View => same(),
        Class::Put => operand == 0,
        _ => false,
    }
}

/// How often an op that is computed on the fly reads an operand for one of its elements: of parts, each as often as it
/// has elements.
pub fn share_of(class: Class, op: OperationRef<'_, '_>, operand: Value<'_, '_>) -> f64 {
    if !matches!(class, Class::Pad | Class::Join | Class::Put) {
        return 1.0;
    }
    let result = op.results().next().map_or(0, |result| size_of(result.into()).0);
    (size_of(operand).0 as f64 / result.max(1) as f64).min(1.0)
}

/// Says what is wrong with the type of a value, if buffers cannot hold it.
///
/// # Errors
/// What is wrong, with the type.
pub fn check_type(ty: Type<'_>) -> Result<(), String> {
    let Some(tensor) = Tensor::new(ty) else {
        return Err(format!("values of type {ty} are not supported"));
    };
    if tensor.is_sparse() {
        return Err(format!("{ty} is sparse, and kernels are made of dense tensors alone"));
    }
    if tensor.shape.iter().any(|&size| !is_static(size)) {
        return Err(format!("the shape of {ty} is known only when it runs"));
    }
    if Quantized::new(tensor.element).is_some() {
        return Err(format!("quantized elements ({ty}) are not supported"));
    }
    if dense::element_bytes(tensor.element).is_none() {
        return Err(format!("elements of {ty} are not numbers"));
    }
    if byte_count(&tensor).is_none() {
        return Err(format!("a {ty} takes 2^63 bytes or more"));
    }
    Ok(())
}

/// Bytes of a static tensor as buffers hold it; `None` for what signed 64 bits do not hold.
fn byte_count(tensor: &Tensor<'_>) -> Option<i64> {
    if tensor.shape.contains(&0) {
        return Some(0);
    }
    tensor.element_count()?.checked_mul(i64::try_from(dense::element_bytes(tensor.element)?).ok()?)
}

fn constant_class(op: OperationRef<'_, '_>) -> Option<Class> {
    let value = attribute_of(op, "value")?;
    let count = Tensor::new(op.result(0).ok()?.r#type())?.element_count()?;
    let dense = DenseElementsAttribute::try_from(value).ok()?;
    if count == 0 || dense.is_splat() || count <= TINY {
        return Some(Class::Constant);
    }
    Some(Class::Table)
}

/// Elements and bytes of a value as buffers hold it: sub-byte elements take a byte each.
pub fn size_of(value: Value<'_, '_>) -> (u64, u64) {
    size_of_type(value.r#type())
}

/// Elements and bytes of a type as buffers hold it.
pub fn size_of_type(ty: Type<'_>) -> (u64, u64) {
    let Some(tensor) = Tensor::new(ty) else { return (0, 0) };
    let count = tensor.element_count().and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    let width = dense::element_bytes(tensor.element).unwrap_or(0) as u64;
    (count, count.saturating_mul(width))
}

/// Floating-point operations for one element, about; integer ones count as much. `None` for what is not elementwise.
pub fn flops_of(local: &str) -> Option<u32> {
    Some(match local {
        "real" | "imag" | "complex" | "bitcast_convert" | "conj" | "constant_like" => 0,
        "abs"
        | "add"
        | "and"
        | "ceil"
        | "clamp"
        | "compare"
        | "convert"
        | "floor"
        | "is_finite"
        | "is_inf"
        | "is_neg_inf"
        | "is_pos_inf"
        | "maximum"
        | "minimum"
        | "multiply"
        | "negate"
        | "not"
        | "or"
        | "reduce_precision"
        | "round_nearest_afz"
        | "round_nearest_even"
        | "select"
        | "shift_left"
        | "shift_right_arithmetic"
        | "shift_right_logical"
        | "sign"
        | "square"
        | "subtract"
        | "xor"
        | "mulhi"
        | "count_leading_zeros"
        | "popcnt" => 1,
        "divide" | "rsqrt" | "sqrt" | "next_after" => 8,
        "exponential"
        | "exponential_minus_one"
        | "log"
        | "log_plus_one"
        | "logistic"
        | "tanh"
        | "remainder"
        | "cosine"
        | "sine"
        | "cbrt" => 20,
        "atan2" | "power" | "tan" | "erf" | "erfc" | "erf_inv" | "acos" | "acosh" | "asin" | "asinh"
        | "atan" | "atanh" | "cosh" | "sinh" | "_asin_acos_kernel" | "bessel_i1e" => 40,
        "digamma" | "lgamma" | "zeta" | "polygamma" => 200,
        _ => return None,
    })
}

/// Operands that a kernel rooted at `op` needs in memory, plain.
pub fn is_plain_operand(op: OperationRef<'_, '_>, kind: &str, operand: usize) -> bool {
    match kind {
        "update" => operand == 0,
        "scatter" => operand < op.result_count(),
        "fft" => !roots::reads_once(op),
        "cholesky" | "triangular_solve" | "rng" => true,
        _ => false,
    }
}

/// How often one element of each operand is evaluated, in all, by a kernel rooted at an op of this kind.
pub fn evaluations(op: OperationRef<'_, '_>, kind: &str, operand: usize) -> f64 {
    // Dots and convolutions read their operands once per tile of the result.
    let tile = || roots::tile_of_product(op) as f64;
    let elements = |index: usize| op.operands().nth(index).map_or(0.0, |value| size_of(value).0 as f64);
    let result = op.result(0).map_or(0.0, |result| size_of(result.into()).0 as f64);
    match kind {
        "update" if operand > 1 => elements(1),
        "scatter" => {
            let updates = elements(op.result_count() + 1);
            // Each component of an index vector, for each update.
            if operand == op.result_count() {
                let vectors = elements(operand).max(1.0);
                updates.max(vectors)
            } else {
                updates
            }
        }
        "reduce" if operand >= op.operand_count() / 2 => result,
        "sort" if operand < op.operand_count() => roots::sort_evaluations(op, operand),
        "dot" => {
            let own = elements(operand).max(1.0);
            let contracted = (elements(0) * elements(1) / result.max(1.0)).sqrt().max(1.0);
            own * (result * contracted / own / tile()).max(1.0)
        }
        "convolution" => {
            let filter = elements(1);
            let own = elements(operand).max(1.0);
            let tile = tile();
            own * (result * filter / own / tile / tile).max(1.0)
        }
        "reduce_window" => {
            let inputs = op.operand_count() / 2;
            if operand < inputs {
                let window: i64 =
                    ir::i64_array(op, "window_dimensions").map_or(1, |sizes| sizes.iter().product());
                result * window.max(1) as f64
            } else {
                result
            }
        }
        "select_and_scatter" => {
            let window: i64 =
                ir::i64_array(op, "window_dimensions").map_or(1, |sizes| sizes.iter().product());
            elements(1) * window.max(1) as f64
        }
        _ => elements(operand),
    }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `convolution` and `dynamic_conv`.

use super::attrs::{ConvDimensionNumbers, ConvTensor};
use super::contraction::{Contraction, precision_config};
use super::dim_lists::{distinct, in_range};
use super::window::{WindowAttributes, WindowDim};
use crate::quant::Quantized;
use crate::require;
use crate::rules::{Rules, Table};
use crate::types::{DYNAMIC, display_shape, is_static};
use crate::view::{OpError, OpView, Verdict};

/// Rules of this family.
pub const TABLE: Table = &[
    ("stablehlo.convolution", Rules::NONE.verify(verify_convolution)),
    ("stablehlo.dynamic_conv", Rules::NONE.verify(verify_dynamic_conv)),
];

const WINDOW: WindowAttributes = WindowAttributes {
    strides: "window_strides",
    padding: Some("padding"),
    base_dilations: Some("lhs_dilation"),
    window_dilations: Some("rhs_dilation"),
    reversal: Some("window_reversal"),
};

/// Of `dynamic_conv`, whose padding is an operand.
const DYNAMIC_WINDOW: WindowAttributes = WindowAttributes { padding: None, ..WINDOW };

/// A convolution whose dimension numbers and group counts were verified.
struct Convolution<'c> {
    tensors: Contraction<'c>,
    numbers: ConvDimensionNumbers<'c>,
    batch_group_count: i64,
}

impl<'c> Convolution<'c> {
    fn read(op: &OpView<'c, '_>) -> Result<Self, OpError> {
        precision_config(op)?;
        let tensors = Contraction::read(op)?;
        let numbers: ConvDimensionNumbers = op.required("dimension_numbers")?;
        verify_ranks(&tensors, numbers)?;
        let groups =
            Groups { feature: op.integer("feature_group_count")?, batch: op.integer("batch_group_count")? };
        let convolution = Self { tensors, numbers, batch_group_count: groups.batch };
        groups.verify(&convolution)?;
        convolution.verify_elements()?;
        Ok(convolution)
    }

    /// Size of a dimension of lhs.
    fn lhs(&self, dimension: i64) -> i64 {
        self.tensors.lhs.shape[dimension as usize]
    }

    /// Size of a dimension of rhs.
    fn rhs(&self, dimension: i64) -> i64 {
        self.tensors.rhs.shape[dimension as usize]
    }

    /// The window, along each spatial dimension.
    fn window(&self, op: &OpView<'_, '_>, attributes: &WindowAttributes) -> Result<Vec<WindowDim>, OpError> {
        let spatial = self.numbers.kernel_spatial_dimensions();
        let sizes: Vec<i64> = spatial.iter().map(|&dimension| self.rhs(dimension)).collect();
        attributes.read(op, &sizes)
    }

    /// lhs and rhs have the same element type unless numbers are quantized; then scales run along output features.
    fn verify_elements(&self) -> Verdict {
        let (lhs, rhs, result) = (&self.tensors.lhs, &self.tensors.rhs, &self.tensors.result);
        let quantized = [lhs, rhs, result].map(|tensor| Quantized::new(tensor.element));
        if quantized.iter().all(Option::is_none) {
            require!(
                lhs.element == rhs.element,
                "lhs has element type {}, but rhs has {}",
                lhs.element,
                rhs.element
            );
            return Ok(());
        }
        self.tensors.verify_quantization()?;
        let expected = [
            ("rhs", quantized[1], self.numbers.kernel_output_feature_dimension()),
            ("result", quantized[2], self.numbers.output_feature_dimension()),
        ];
        for (name, quantized, feature) in expected {
            if let Some(dimension) = quantized.and_then(|quantized| quantized.quantized_dimension()) {
                require!(
                    dimension == feature,
                    "{name} is quantized along dimension {dimension}, but its output feature dimension is {feature}"
                );
            }
        }
        Ok(())
    }
}

/// Dimension numbers name every dimension of each tensor once.
fn verify_ranks(tensors: &Contraction<'_>, numbers: ConvDimensionNumbers<'_>) -> Verdict {
    let rank = tensors.lhs.rank();
    require!(rank == tensors.rhs.rank(), "lhs has rank {rank}, but rhs has rank {}", tensors.rhs.rank());
    require!(rank >= 2, "the operands have rank {rank}, less than 2");
    let roles = [("input", numbers.input()), ("kernel", numbers.kernel()), ("output", numbers.output())];
    for (name, tensor) in roles {
        require!(
            tensor.spatial.len() == rank - 2,
            "dimension_numbers has {} {name} spatial dimensions, but the operands have rank {rank}",
            tensor.spatial.len()
        );
        let ConvTensor { batch, feature, spatial } = tensor;
        let all = [&[batch, feature], spatial].concat();
        let what = format!("{name} dimensions of dimension_numbers");
        in_range((&what, &all), rank, "the operands")?;
        distinct(&[(&what, &all)])?;
    }
    Ok(())
}

/// feature_group_count and batch_group_count.
struct Groups {
    feature: i64,
    batch: i64,
}

impl Groups {
    fn verify(&self, convolution: &Convolution<'_>) -> Verdict {
        for (name, count) in [("feature_group_count", self.feature), ("batch_group_count", self.batch)] {
            require!(count > 0, "{name} = {count} is not positive");
        }
        require!(
            self.feature == 1 || self.batch == 1,
            "feature_group_count = {} and batch_group_count = {} are both more than 1",
            self.feature,
            self.batch
        );
        let numbers = convolution.numbers;
        let batch = convolution.lhs(numbers.input_batch_dimension());
        let features = convolution.lhs(numbers.input_feature_dimension());
        let kernel_features = convolution.rhs(numbers.kernel_input_feature_dimension());
        let output_features = convolution.rhs(numbers.kernel_output_feature_dimension());
        multiple("the input batch dimension", batch, "batch_group_count", self.batch)?;
        multiple("the input feature dimension", features, "feature_group_count", self.feature)?;
        require!(
            !is_static(features) || !is_static(kernel_features) || features / self.feature == kernel_features,
            "the kernel has {kernel_features} input features, but the input has {features} in {} groups",
            self.feature
        );
        multiple("the kernel output feature dimension", output_features, "batch_group_count", self.batch)?;
        multiple("the kernel output feature dimension", output_features, "feature_group_count", self.feature)
    }
}

fn multiple(what: &str, size: i64, of: &str, count: i64) -> Verdict {
    require!(
        !is_static(size) || size % count == 0,
        "{what} has size {size}, not a multiple of {of} = {count}"
    );
    Ok(())
}

fn verify_convolution(op: &OpView<'_, '_>) -> Verdict {
    let convolution = Convolution::read(op)?;
    let numbers = convolution.numbers;
    let window = convolution.window(op, &WINDOW)?;

    let mut shape = vec![DYNAMIC; convolution.tensors.lhs.rank()];
    let batch = convolution.lhs(numbers.input_batch_dimension());
    shape[numbers.output_batch_dimension() as usize] =
        if is_static(batch) { batch / convolution.batch_group_count } else { DYNAMIC };
    shape[numbers.output_feature_dimension() as usize] =
        convolution.rhs(numbers.kernel_output_feature_dimension());
    let spatial = numbers.input_spatial_dimensions().iter().zip(numbers.output_spatial_dimensions());
    for ((&input, &output), window) in spatial.zip(window) {
        shape[output as usize] = window.places(convolution.lhs(input));
    }
    convolution.tensors.verify_result_shape(&shape)
}

/// Padding is known at run time only, so the spatial sizes of the result are not verified. Its window is, as that of `convolution`, which
/// jaxlib leaves out: XLA would meet a stride of 0 with a failed check.
fn verify_dynamic_conv(op: &OpView<'_, '_>) -> Verdict {
    let convolution = Convolution::read(op)?;
    convolution.window(op, &DYNAMIC_WINDOW)?;
    let padding = op.operand_tensor(2)?;
    let dimensions = convolution.numbers.input_spatial_dimensions().len();
    require!(
        padding.shape == [dimensions as i64, 2],
        "padding has shape [{}], but there are {dimensions} spatial dimensions to pad on two sides",
        display_shape(padding.shape)
    );
    Ok(())
}

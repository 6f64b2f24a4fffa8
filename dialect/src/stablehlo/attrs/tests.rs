// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

use super::*;
use crate::DYNAMIC;
use crate::types::Tensor;
use melior::Context;
use melior::dialect::DialectRegistry;

fn context() -> Context {
    let registry = DialectRegistry::new();
    crate::ffi::register_dialects(&registry);
    let context = Context::new();
    context.append_dialect_registry(&registry);
    context.load_all_available_dialects();
    context
}

fn parse<'c>(context: &'c Context, text: &str) -> Attribute<'c> {
    let attribute = Attribute::parse(context, text).unwrap_or_else(|| panic!("{text} does not parse"));
    assert_eq!(attribute.to_string(), text);
    attribute
}

/// Whether `build` fails with a diagnostic that contains `message`.
fn reports<T>(context: &Context, message: &str, build: impl FnOnce() -> Option<T>) -> bool {
    let found = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let sink = std::sync::Arc::clone(&found);
    let handler = context.attach_diagnostic_handler(move |diagnostic| {
        sink.lock().unwrap().push_str(&diagnostic.to_string());
        true
    });
    let failed = build().is_none();
    context.detach_diagnostic_handler(handler);
    let found = found.lock().unwrap();
    assert!(found.contains(message), "{found:?} does not contain {message:?}");
    failed
}

macro_rules! check_enum {
    ($context:expr, $name:ident, $functions:ident, $prefix:literal, $suffix:literal) => {
        assert!(!$name::ALL.is_empty());
        for &case in $name::ALL {
            assert_eq!(ffi::$functions.name(case as i32), case.as_str());
            assert_eq!(ffi::$functions.parse(case.as_str()), case as i32);
            assert_eq!(case.to_string().parse(), Ok(case));
            let attribute = case.attribute($context);
            assert_eq!($name::try_from(attribute), Ok(case));
            if !$prefix.is_empty() {
                assert_eq!(attribute, parse($context, &format!(concat!($prefix, "{}", $suffix), case)));
            }
        }
        // No case that Rust does not know.
        let known = (-1..64).filter(|&value| !ffi::$functions.name(value).is_empty()).count();
        assert_eq!(known, $name::ALL.len());
        assert!("nonsense".parse::<$name>().is_err());
        assert!($name::try_from(Attribute::unit($context)).is_err());
    };
}

#[test]
fn enums_agree_with_the_other_half() {
    let context = &context();
    check_enum!(context, ComparisonDirection, comparison_direction, "#stablehlo<comparison_direction ", ">");
    check_enum!(context, ComparisonType, comparison_type, "#stablehlo<comparison_type ", ">");
    check_enum!(context, Precision, precision, "#stablehlo<precision ", ">");
    check_enum!(context, FftType, fft_type, "#stablehlo<fft_type ", ">");
    check_enum!(context, Transpose, transpose, "#stablehlo<transpose ", ">");
    check_enum!(context, RngDistribution, rng_distribution, "#stablehlo<rng_distribution ", ">");
    check_enum!(context, RngAlgorithm, rng_algorithm, "#stablehlo<rng_algorithm ", ">");
    check_enum!(context, CustomCallApiVersion, custom_call_api_version, "", "");
    check_enum!(context, ResultAccuracyMode, result_accuracy_mode, "#stablehlo.result_accuracy_mode<", ">");
    assert_eq!(CustomCallApiVersion::TypedFfi.attribute(context), parse(context, "4 : i32"));
    assert!(ComparisonType::try_from(ComparisonDirection::Eq.attribute(context)).is_err());
    assert_eq!(
        "XX".parse::<RngDistribution>().unwrap_err().to_string(),
        "'XX' is no RngDistribution; one of UNIFORM, NORMAL is"
    );
}

#[test]
fn gather() {
    let context = &context();
    let text = "#stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], \
                operand_batching_dims = [3], start_indices_batching_dims = [4], \
                start_index_map = [5, 6], index_vector_dim = 7>";
    let view = GatherDimensionNumbers::try_from(parse(context, text)).unwrap();
    assert_eq!(view.offset_dims(), [0, 2]);
    assert_eq!(view.collapsed_slice_dims(), [1]);
    assert_eq!(view.operand_batching_dims(), [3]);
    assert_eq!(view.start_indices_batching_dims(), [4]);
    assert_eq!(view.start_index_map(), [5, 6]);
    assert_eq!(view.index_vector_dim(), 7);
    assert_eq!(view, GatherDimensionNumbers::new(context, &[0, 2], &[1], &[3], &[4], &[5, 6], 7));
    assert_eq!(
        GatherDimensionNumbers::new(view.context(), &[], &[], &[], &[], &[], 0),
        GatherDimensionNumbers::try_from(parse(context, "#stablehlo.gather<>")).unwrap()
    );
    assert!(ScatterDimensionNumbers::try_from(Attribute::from(view)).is_err());
}

#[test]
fn scatter() {
    let context = &context();
    let text = "#stablehlo.scatter<update_window_dims = [0, 2], inserted_window_dims = [1], \
                input_batching_dims = [3], scatter_indices_batching_dims = [4], \
                scatter_dims_to_operand_dims = [5, 6], index_vector_dim = 7>";
    let view = ScatterDimensionNumbers::try_from(parse(context, text)).unwrap();
    assert_eq!(view.update_window_dims(), [0, 2]);
    assert_eq!(view.inserted_window_dims(), [1]);
    assert_eq!(view.input_batching_dims(), [3]);
    assert_eq!(view.scatter_indices_batching_dims(), [4]);
    assert_eq!(view.scatter_dims_to_operand_dims(), [5, 6]);
    assert_eq!(view.index_vector_dim(), 7);
    assert_eq!(view, ScatterDimensionNumbers::new(context, &[0, 2], &[1], &[3], &[4], &[5, 6], 7));
}

#[test]
fn dot() {
    let context = &context();
    let text = "#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], \
                lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [4, 5]>";
    let view = DotDimensionNumbers::try_from(parse(context, text)).unwrap();
    assert_eq!(view.lhs_batching_dimensions(), [0]);
    assert_eq!(view.rhs_batching_dimensions(), [1]);
    assert_eq!(view.lhs_contracting_dimensions(), [2, 3]);
    assert_eq!(view.rhs_contracting_dimensions(), [4, 5]);
    assert_eq!(view, DotDimensionNumbers::new(context, &[0], &[1], &[2, 3], &[4, 5]));
}

#[test]
fn dot_algorithm() {
    let context = &context();
    let text = "#stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, \
                accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, \
                num_primitive_operations = 6, allow_imprecise_accumulation = false>";
    let view = DotAlgorithm::try_from(parse(context, text)).unwrap();
    let parts = DotAlgorithmParts {
        lhs_precision_type: view.lhs_precision_type().unwrap(),
        rhs_precision_type: view.rhs_precision_type().unwrap(),
        accumulation_type: view.accumulation_type().unwrap(),
        lhs_component_count: view.lhs_component_count(),
        rhs_component_count: view.rhs_component_count(),
        num_primitive_operations: view.num_primitive_operations(),
        allow_imprecise_accumulation: view.allow_imprecise_accumulation(),
    };
    assert_eq!(parts.accumulation_type, Type::float32(context));
    assert_eq!(parts.num_primitive_operations, 6);
    let location = Location::unknown(context);
    assert_eq!(DotAlgorithm::new(location, parts), Some(view));
    assert!(reports(context, "num_primitive_operations = 7", || {
        DotAlgorithm::new(location, DotAlgorithmParts { num_primitive_operations: 7, ..parts })
    }));
    assert!(reports(context, "rhs_component_count = 0, which is not positive", || {
        DotAlgorithm::new(location, DotAlgorithmParts { rhs_component_count: 0, ..parts })
    }));
}

#[test]
fn conv() {
    let context = &context();
    let view = ConvDimensionNumbers::try_from(parse(
        context,
        "#stablehlo.conv<[b, 1, 0, f]x[0, i, 1, o]->[f, 0, b, 1]>",
    ))
    .unwrap();
    assert_eq!(view.input(), ConvTensor { batch: 0, feature: 3, spatial: &[2, 1] });
    assert_eq!(view.kernel(), ConvTensor { batch: 1, feature: 3, spatial: &[0, 2] });
    assert_eq!(view.output(), ConvTensor { batch: 2, feature: 0, spatial: &[1, 3] });
    assert_eq!(view, ConvDimensionNumbers::new(context, view.input(), view.kernel(), view.output()));
    // Numbers that labels cannot say are printed by name, and read back.
    let odd = ConvTensor { batch: -1, feature: 9, spatial: &[0, 0] };
    let view = ConvDimensionNumbers::new(context, odd, view.kernel(), view.output());
    assert!(view.to_string().starts_with("#stablehlo.conv<raw input_batch_dimension = -1, "), "{view}");
    assert_eq!(Attribute::from(view), parse(context, &view.to_string()));
}

#[test]
fn collectives() {
    let context = &context();
    let location = Location::unknown(context);

    let view =
        ChannelHandle::try_from(parse(context, "#stablehlo.channel_handle<handle = 5, type = 1>")).unwrap();
    assert_eq!((view.handle(), view.channel_type()), (5, 1));
    assert_eq!(view, ChannelHandle::new(context, 5, 1));

    let text = r#"#stablehlo.axis_ref<name = "x", sub_axis_info = (2)4>"#;
    let part = AxisRef::try_from(parse(context, text)).unwrap();
    let info = part.sub_axis_info().unwrap();
    assert_eq!((part.name(), info.pre_size(), info.size()), ("x", 2, 4));
    assert_eq!(part, AxisRef::new(context, "x", Some(SubAxisInfo::new(context, 2, 4))));
    let whole = AxisRef::new(context, "y", None);
    assert_eq!(whole.sub_axis_info(), None);
    assert_eq!(whole.to_string(), r#"#stablehlo.axis_ref<name = "y">"#);

    let text = "#stablehlo.mesh<axes=[<name = \"x\", size = 2>, <name = \"y\", size = 1>], \
                device_ids=dense<[1, 0]> : tensor<2xi64>>";
    let mesh = Mesh::try_from(parse(context, text)).unwrap();
    let axes = mesh.axes();
    assert_eq!((axes.len(), axes[0].name(), axes[0].size()), (2, "x", 2));
    assert_eq!(axes[1], MeshAxis::new(context, "y", 1));
    assert_eq!(Mesh::new(location, &axes, mesh.device_ids()), Some(mesh));
    assert_eq!(Mesh::new(location, &axes, None).unwrap().device_ids(), None);
    assert!(reports(context, "stablehlo.mesh has no axes", || Mesh::new(location, &[], None)));
    assert!(reports(context, "device_ids", || Mesh::new(location, &axes, Some(Attribute::unit(context)))));

    let text = r#"#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "x">]>"#;
    let groups = ReplicaGroupMeshAxes::try_from(parse(context, text)).unwrap();
    assert_eq!(groups.mesh().unwrap().to_string(), "@m");
    let (name, list) = (groups.mesh().unwrap(), groups.axes().unwrap());
    assert_eq!(ReplicaGroupMeshAxes::new(location, name, list), Some(groups));
    assert!(ReplicaGroupMeshAxes::new(location, mesh.into(), list).is_some());
    assert!(reports(context, "neither", || ReplicaGroupMeshAxes::new(location, list, list)));
    assert!(reports(context, "not an array", || ReplicaGroupMeshAxes::new(location, name, name)));
}

#[test]
fn output_operand_alias() {
    let context = &context();
    let text = "#stablehlo.output_operand_alias<output_tuple_indices = [0, 1], operand_index = 2, \
                operand_tuple_indices = []>";
    let view = OutputOperandAlias::try_from(parse(context, text)).unwrap();
    assert_eq!(view.output_tuple_indices(), [0, 1]);
    assert_eq!(view.operand_index(), 2);
    assert_eq!(view.operand_tuple_indices(), []);
    assert_eq!(view, OutputOperandAlias::new(context, &[0, 1], 2, &[]));
}

#[test]
fn result_accuracy() {
    let context = &context();
    let location = Location::unknown(context);
    let text = "#stablehlo.result_accuracy<atol = 1.000000e-01, ulps = 3, \
                mode = #stablehlo.result_accuracy_mode<TOLERANCE>>";
    let view = ResultAccuracy::try_from(parse(context, text)).unwrap();
    assert_eq!((view.atol(), view.rtol(), view.ulps()), (0.1, 0.0, 3));
    assert_eq!(view.mode(), ResultAccuracyMode::Tolerance);
    assert_eq!(ResultAccuracy::new(location, 0.1, 0.0, 3, ResultAccuracyMode::Tolerance), Some(view));
    assert!(reports(context, "ulps = 3", || {
        ResultAccuracy::new(location, 0.0, 0.0, 3, ResultAccuracyMode::Highest)
    }));
    assert!(reports(context, "rtol = -1.5, which is negative", || {
        ResultAccuracy::new(location, 0.0, -1.5, 0, ResultAccuracyMode::Tolerance)
    }));
}

#[test]
fn bounds() {
    let context = &context();
    let view = TypeExtensions::try_from(parse(context, "#stablehlo.bounds<3, ?>")).unwrap();
    assert_eq!(view.bounds(), [3, DYNAMIC]);
    assert_eq!(view, TypeExtensions::new(context, &[3, DYNAMIC]));
    let other = Attribute::parse(context, "#stablehlo.type_extensions<bounds = [3, ?]>");
    assert_eq!(other, Some(view.into()));

    let ty = Tensor::get(&[DYNAMIC, 4], Type::float32(context), Some(view.bounds()));
    assert_eq!(ty.to_string(), "tensor<?x4xf32, #stablehlo.bounds<3, ?>>");
    assert_eq!(Tensor::new(ty).unwrap().bounds(), Some(&[3, DYNAMIC][..]));
    assert!(reports(context, "bound 3 to dimension 0, which has the static size 2", || {
        Type::parse(context, "tensor<2x4xf32, #stablehlo.bounds<3, ?>>")
    }));
    assert!(reports(context, "has 1 entries, but the tensor type has rank 2", || {
        Type::parse(context, "tensor<?x4xf32, #stablehlo.bounds<3>>")
    }));
}

#[test]
fn types() {
    let context = &context();
    let location = Location::unknown(context);
    let token = TokenType::try_from(Type::parse(context, "!stablehlo.token").unwrap()).unwrap();
    assert_eq!(token, TokenType::new(context));
    assert!(FutureType::try_from(Type::from(token)).is_err());

    let future = Type::parse(context, "!stablehlo.future<tensor<2xf32>, tensor<?xi32>>").unwrap();
    let future = FutureType::try_from(future).unwrap();
    let types = future.types();
    assert_eq!(types.len(), 2);
    assert_eq!(types[1].to_string(), "tensor<?xi32>");
    assert_eq!(FutureType::new(location, &types), Some(future));
    assert!(reports(context, "element #1 that is not a ranked tensor", || {
        FutureType::new(location, &[types[0], token.into()])
    }));
}

#[test]
fn bad_text_is_diagnosed_by_key() {
    let context = &context();
    for (text, message) in [
        ("#stablehlo.gather<foo = [0]>", "stablehlo.gather has no key 'foo'; it has offset_dims, "),
        ("#stablehlo.dot<lhs_contracting_dimensions = 1>", "cannot read key 'lhs_contracting_dimensions'"),
        (
            "#stablehlo.scatter<index_vector_dim = 1, index_vector_dim = 1>",
            "'index_vector_dim' of stablehlo.scatter is given twice",
        ),
        ("#stablehlo.conv<[b, 0, q]x[0, i, o]->[b, 0, f]>", "'q' is no label of the input"),
        ("#stablehlo.conv<[b, 0, f]x[0, i, i]->[b, 0, f]>", "label 'i' of the kernel is given twice"),
        ("#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 5, f]>", "the output has 1 spatial dimensions"),
        ("#stablehlo.nonsense", "no attribute 'nonsense'"),
    ] {
        assert!(reports(context, message, || Attribute::parse(context, text)));
    }
}

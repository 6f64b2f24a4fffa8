// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the op definitions of the `stablehlo` dialect share: which element types exist, which tensors are made of them,
// which attributes ops take, and the classes that ops derive from.

#ifndef SLIMHLO_STABLEHLO_BASE_TD
#define SLIMHLO_STABLEHLO_BASE_TD

include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "slimhlo/RustOp.td"
include "slimhlo/stablehlo/StablehloAttrs.td"
include "slimhlo/stablehlo/StablehloDialect.td"
include "slimhlo/stablehlo/StablehloEnums.td"
include "slimhlo/stablehlo/StablehloTypes.td"

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

def StableHLO_Pred : TypeAlias<I1, "bool">;

// Integers are signless (read as signed) or unsigned; explicitly signed ones do not exist here.
def StableHLO_SInt : SignlessIntOfWidths<[2, 4, 8, 16, 32, 64]>;
def StableHLO_UInt : UnsignedIntOfWidths<[2, 4, 8, 16, 32, 64]>;
def StableHLO_Int : AnyTypeOf<[StableHLO_SInt, StableHLO_UInt], "2/4/8/16/32/64-bit integer">;

def StableHLO_Float : AnyTypeOf<[
  F4E2M1FN, F6E2M3FN, F6E3M2FN, F8E3M4, F8E4M3, F8E4M3FN, F8E4M3FNUZ, F8E4M3B11FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU,
  BF16, F16, F32, F64
], "4/6/8/16/32/64-bit float">;
def StableHLO_Float32Or64 : AnyTypeOf<[F32, F64], "32/64-bit float">;

def StableHLO_Complex : Complex<StableHLO_Float32Or64>;

/// Quantized types whose storage is an integer of a width that exists above; the expressed type is any float.
class StableHLO_QuantizedOf<string cppClass, string summary> : Type<And<[
    CPred<"::llvm::isa<" # cppClass # ">($_self)">,
    CPred<"::llvm::is_contained({2u, 4u, 8u, 16u, 32u}, "
          "::llvm::cast<::mlir::quant::QuantizedType>($_self).getStorageTypeIntegralWidth())">
  ]>, summary>;

def StableHLO_Quantized
    : StableHLO_QuantizedOf<"::mlir::quant::UniformQuantizedType", "integer quantized per tensor">;
def StableHLO_PerAxisQuantized
    : StableHLO_QuantizedOf<"::mlir::quant::UniformQuantizedPerAxisType", "integer quantized per axis">;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

defvar StableHLO_PlainElements = [StableHLO_Float, StableHLO_Pred, StableHLO_Int, StableHLO_Complex];
defvar StableHLO_Elements = !listconcat(StableHLO_PlainElements, [StableHLO_Quantized]);
defvar StableHLO_AllElements = !listconcat(StableHLO_Elements, [StableHLO_PerAxisQuantized]);

// Most ops take this one.
def StableHLO_Tensor : RankedTensorOf<StableHLO_Elements>;
def StableHLO_PerAxisQuantizedTensor : RankedTensorOf<[StableHLO_PerAxisQuantized]>;
def StableHLO_TensorOrPerAxis : RankedTensorOf<StableHLO_AllElements>;
def StableHLO_PlainTensor : RankedTensorOf<StableHLO_PlainElements>;

def StableHLO_PredTensor : RankedTensorOf<[StableHLO_Pred]>;
def StableHLO_IntTensor : RankedTensorOf<[StableHLO_Int]>;
def StableHLO_PredOrIntTensor : RankedTensorOf<[StableHLO_Pred, StableHLO_Int]>;
def StableHLO_FloatTensor : RankedTensorOf<[StableHLO_Float]>;
def StableHLO_Float32Or64Tensor : RankedTensorOf<[StableHLO_Float32Or64]>;
def StableHLO_ComplexTensor : RankedTensorOf<[StableHLO_Complex]>;
def StableHLO_FloatOrComplexTensor : RankedTensorOf<[StableHLO_Float, StableHLO_Complex]>;
def StableHLO_IntOrFloatTensor : RankedTensorOf<[StableHLO_Int, StableHLO_Float]>;
def StableHLO_PredIntOrFloatTensor : RankedTensorOf<[StableHLO_Pred, StableHLO_Int, StableHLO_Float]>;

def StableHLO_FloatOrQuantizedTensor : RankedTensorOf<[StableHLO_Float, StableHLO_Quantized]>;
def StableHLO_FloatComplexOrQuantizedTensor
    : RankedTensorOf<[StableHLO_Float, StableHLO_Complex, StableHLO_Quantized]>;
def StableHLO_NumberTensor
    : RankedTensorOf<[StableHLO_Int, StableHLO_Float, StableHLO_Complex, StableHLO_Quantized]>;
def StableHLO_SignedNumberTensor
    : RankedTensorOf<[StableHLO_SInt, StableHLO_Float, StableHLO_Complex, StableHLO_Quantized]>;
def StableHLO_SignedRealTensor : RankedTensorOf<[StableHLO_SInt, StableHLO_Float, StableHLO_Quantized]>;
def StableHLO_QuantizedTensor : RankedTensorOf<[StableHLO_Quantized, StableHLO_PerAxisQuantized]>;
def StableHLO_QuantizableTensor
    : RankedTensorOf<[StableHLO_Float, StableHLO_Quantized, StableHLO_PerAxisQuantized]>;

def StableHLO_Int32Tensor : RankedTensorOf<[I32]>;
def StableHLO_UInt32Tensor : RankedTensorOf<[UI32]>;
def StableHLO_AnyIndexTensor : RankedTensorOf<[AnyInteger, Index]>;

// Scalars.
def StableHLO_Scalar : 0DTensorOf<StableHLO_Elements>;
def StableHLO_IntScalar : 0DTensorOf<[StableHLO_Int]>;
def StableHLO_PredIntOrFloatScalar : 0DTensorOf<[StableHLO_Pred, StableHLO_Int, StableHLO_Float]>;

// Vectors.
def StableHLO_FloatOrQuantizedVector : 1DTensorOf<[StableHLO_Float, StableHLO_Quantized]>;
def StableHLO_DimensionVector : 1DTensorOf<[Index, StableHLO_Int]>;

// Tensors whose every dimension is known.
class StableHLO_StaticTensorOf<list<Type> elements>
    : RankedTensorOf<elements, [HasStaticShapePred], "statically shaped ranked tensor">;
class StableHLO_StaticTensorOfRank<list<Type> elements, int rank>
    : RankedTensorOf<elements, [HasStaticShapePred, HasAnyRankOfPred<[rank]>],
                     "statically shaped " # rank # "-dimensional tensor">;

def StableHLO_StaticTensor : StableHLO_StaticTensorOf<StableHLO_Elements>;
def StableHLO_StaticTensorOrPerAxis : StableHLO_StaticTensorOf<StableHLO_AllElements>;
def StableHLO_StaticIntOrFloatTensor : StableHLO_StaticTensorOf<[StableHLO_Int, StableHLO_Float]>;
def StableHLO_StaticNumberTensor
    : StableHLO_StaticTensorOf<[StableHLO_Int, StableHLO_Float, StableHLO_Complex, StableHLO_Quantized]>;
def StableHLO_StaticDimensionVector : StableHLO_StaticTensorOfRank<[Index, StableHLO_Int], 1>;
def StableHLO_StaticIntVector : StableHLO_StaticTensorOfRank<[StableHLO_Int], 1>;
def StableHLO_StaticIntMatrix : StableHLO_StaticTensorOfRank<[StableHLO_Int], 2>;

// The shape may have one dynamic dimension if a bound is known for it.
def StableHLO_StaticOrBoundedTensor : RankedTensorOf<StableHLO_AllElements, [
    Or<[HasStaticShapePred, CPred<"::slimhlo::stablehlo::hasSingleBoundedDimension($_self)">]>
  ], "statically shaped or singly bounded tensor">;

//===----------------------------------------------------------------------===//
// Values that need not be tensors
//===----------------------------------------------------------------------===//

def StableHLO_Buffer : MemRefOf<StableHLO_Elements>;

def StableHLO_Tuple
    : NestedTupleOf<[StableHLO_Tensor, StableHLO_Buffer, StableHLO_PerAxisQuantizedTensor, StableHLO_Token]>;

defvar StableHLO_TensorsAndTokens = [StableHLO_Tensor, StableHLO_PerAxisQuantizedTensor, StableHLO_Token];

def StableHLO_TensorOrToken : AnyTypeOf<[StableHLO_Tensor, StableHLO_Token]>;
def StableHLO_StaticTensorOrToken
    : AnyTypeOf<[StableHLO_StaticTensor, StableHLO_StaticTensorOrPerAxis, StableHLO_Token]>;
def StableHLO_BranchValue : AnyTypeOf<StableHLO_TensorsAndTokens>;
def StableHLO_LoopValue : AnyTypeOf<!listconcat(StableHLO_TensorsAndTokens, [StableHLO_Buffer])>;
def StableHLO_CompositeValue : AnyTypeOf<!listconcat(StableHLO_TensorsAndTokens, [StableHLO_Tuple])>;
def StableHLO_TupleElement
    : AnyTypeOf<!listconcat(StableHLO_TensorsAndTokens, [StableHLO_Tuple, StableHLO_Buffer])>;

// A custom call alone may see tensors of unknown rank.
def StableHLO_UnrankedOrRankedTensor : TensorOf<StableHLO_AllElements>;
def StableHLO_CustomCallValue : AnyTypeOf<[
    StableHLO_UnrankedOrRankedTensor, StableHLO_Buffer, StableHLO_Token,
    NestedTupleOf<[StableHLO_UnrankedOrRankedTensor, StableHLO_Buffer, StableHLO_Token]>, StableHLO_Future
  ]>;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def StableHLO_NonNegativeI64 : ConfinedAttr<I64Attr, [IntNonNegative]>;
def StableHLO_PositiveI64 : ConfinedAttr<I64Attr, [IntPositive]>;
def StableHLO_NonNegativeI32 : ConfinedAttr<I32Attr, [IntNonNegative]>;
def StableHLO_PositiveI32 : ConfinedAttr<I32Attr, [IntPositive]>;

def StableHLO_PrecisionConfig : TypedArrayAttrBase<StableHLO_PrecisionAttr, "one precision per operand">;

def StableHLO_ReplicaGroups
    : AnyAttrOf<[I64ElementsAttr, StableHLO_ReplicaGroupMeshAxes], "replica groups, listed or as axes of a mesh">;

def StableHLO_Layout : Attr<And<[
    IndexElementsAttr.predicate,
    CPred<"::llvm::cast<::mlir::DenseIntElementsAttr>($_self).getType().getRank() == 1">
  ]>, "a 1-dimensional tensor of index values">;
def StableHLO_Layouts : TypedArrayAttrBase<StableHLO_Layout, "an array of layouts (1-dimensional index tensors)">;

def StableHLO_FlatSymbolRefArray : TypedArrayAttrBase<FlatSymbolRefAttr, "an array of flat symbol references">;
def StableHLO_OutputOperandAliases
    : TypedArrayAttrBase<StableHLO_OutputOperandAlias, "an array of output operand aliases">;

def StableHLO_OptionalResultAccuracy : DefaultValuedOptionalAttr<StableHLO_ResultAccuracyAttr,
    "::slimhlo::stablehlo::getDefaultResultAccuracy($_builder.getContext())"> {
  let constBuilderCall = "$0";
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

// In assembly formats, enum attributes are preceded by an empty literal, which suppresses the space before them: LLVM 22 prints
// one as part of the attribute.

class StableHLO_Op<string mnemonic, list<Trait> traits = []> : RustOp<StableHLO_Dialect, mnemonic, traits>;

/// An op that only computes its results.
class StableHLO_PureOp<string mnemonic, list<Trait> traits = []>
    : StableHLO_Op<mnemonic, !listconcat([RustPure], traits)>;

/// An op that only computes its results, but is defined for some values of its operands only (a shape that fits the
/// result's type, a matrix with a factor). What guards it may be what makes it defined, so it is not moved ahead of that.
class StableHLO_PartialOp<string mnemonic, list<Trait> traits = []>
    : StableHLO_Op<mnemonic, !listconcat([NoMemoryEffect], traits)>;

/// The terminator of the regions of most ops. `scatter`, `select_and_scatter`, `sort` and `reduce_scatter` take any: so
/// do the other implementations, and modules made by them must stay valid.
def StableHLO_ReturnTerminator : SingleBlockImplicitTerminator<"ReturnOp">;

#endif // SLIMHLO_STABLEHLO_BASE_TD

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the ops of our three dialects have in common: TableGen gives them shape and syntax, and every question that
// needs thought (valid? returns what? may be moved?) goes to the Rust half through one generic hook each, found in
// RustOp.h. No op brings C++ of its own, except where its syntax is beyond what an assembly format can say.

#ifndef SLIMHLO_RUSTOP_TD
#define SLIMHLO_RUSTOP_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Verification. Runs after the constraints that ODS generates and after the op's other traits, so that the Rust half
/// may rely on operand counts, segment sizes, attribute kinds and type constraints. Before all of these it may say with
/// numbers what MLIR would say without: so the function that MLIR calls is ours, which asks Rust first.
def RustVerified : NativeOpTrait<"RustVerified", /*traits=*/[], /*extraOpDeclaration=*/[{
  static ::mlir::OperationName::VerifyInvariantsFn getVerifyInvariantsFn() {
    return [](::mlir::Operation *op) {
      return ::slimhlo::verifyInvariants(static_cast<const Op *>(nullptr), op);
    };
  }
}]> {
  let cppNamespace = "::slimhlo";
}

/// Result type inference.
def RustInferTypesHook : NativeOpTrait<"RustInferTypes", /*traits=*/[], /*extraOpDeclaration=*/[{
  static ::llvm::LogicalResult inferReturnTypes(
      ::mlir::MLIRContext *context, ::std::optional<::mlir::Location> location,
      ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
      ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
      ::llvm::SmallVectorImpl<::mlir::Type> &inferredReturnTypes);
  static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual);
}], /*extraOpDefinition=*/[{
  ::llvm::LogicalResult $cppClass::inferReturnTypes(
      ::mlir::MLIRContext *context, ::std::optional<::mlir::Location> location,
      ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
      ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
      ::llvm::SmallVectorImpl<::mlir::Type> &inferredReturnTypes) {
    return ::slimhlo::inferReturnTypes(
        getOperationName(), context, location, operands,
        ::slimhlo::propertiesToAttributes<$cppClass>(context, attributes, properties),
        regions, inferredReturnTypes);
  }
  bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual) {
    return ::slimhlo::isCompatibleReturnTypes(getOperationName(), inferred, actual);
  }
}]> {
  let cppNamespace = "::slimhlo";
}
def RustInferTypes : TraitList<[InferTypeOpInterface, RustInferTypesHook]>;

/// Memory effects that depend on more than the op's name.
def RustMemoryEffectsHook : NativeOpTrait<"RustMemoryEffects", /*traits=*/[], /*extraOpDeclaration=*/[{
  void getEffects(::llvm::SmallVectorImpl<
      ::mlir::SideEffects::EffectInstance<::mlir::MemoryEffects::Effect>> &effects);
}], /*extraOpDefinition=*/[{
  void $cppClass::getEffects(::llvm::SmallVectorImpl<
      ::mlir::SideEffects::EffectInstance<::mlir::MemoryEffects::Effect>> &effects) {
    ::slimhlo::getEffects(getOperation(), effects);
  }
}]> {
  let cppNamespace = "::slimhlo";
}
def RustMemoryEffects : TraitList<[MemoryEffectsOpInterface, RustMemoryEffectsHook]>;

/// Whether the op may run where it did not run before, asked per op.
def RustSpeculatableHook : NativeOpTrait<"RustSpeculatable", /*traits=*/[], /*extraOpDeclaration=*/[{
  ::mlir::Speculation::Speculatability getSpeculatability();
}], /*extraOpDefinition=*/[{
  ::mlir::Speculation::Speculatability $cppClass::getSpeculatability() {
    return ::slimhlo::getSpeculatability(getOperation());
  }
}]> {
  let cppNamespace = "::slimhlo";
}
def RustSpeculatable : TraitList<[ConditionallySpeculatable, RustSpeculatableHook]>;

/// Every symbol named by an attribute of the op is looked up once, through the verifier's cached tables, and what was
/// found is shown to the Rust half.
def RustSymbolUserHook : NativeOpTrait<"RustSymbolUser", /*traits=*/[], /*extraOpDeclaration=*/[{
  ::llvm::LogicalResult verifySymbolUses(::mlir::SymbolTableCollection &symbolTable);
}], /*extraOpDefinition=*/[{
  ::llvm::LogicalResult $cppClass::verifySymbolUses(::mlir::SymbolTableCollection &symbolTable) {
    return ::slimhlo::verifySymbolUses(getOperation(), symbolTable);
  }
}]> {
  let cppNamespace = "::slimhlo";
}
def RustSymbolUser : TraitList<[SymbolUserOpInterface, RustSymbolUserHook]>;

/// No memory effects; whether it may be hoisted is asked per op.
def RustPure : TraitList<[RustSpeculatable, NoMemoryEffect]>;

/// The base of all ops.
class RustOp<Dialect dialect, string mnemonic, list<Trait> traits = []>
    : Op<dialect, mnemonic, !listconcat(traits, [RustVerified])>;

#endif // SLIMHLO_RUSTOP_TD

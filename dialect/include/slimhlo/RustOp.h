// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one bridge between the generated op classes and the Rust half: each function below turns C++
// values into their C counterparts and calls one function of slimhlo-c/Hooks.h. See RustOp.td for
// the ODS side.

#ifndef SLIMHLO_RUSTOP_H
#define SLIMHLO_RUSTOP_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

namespace slimhlo {

/// How many operands, results and regions the traits of an op ask for; -1 where they do not say.
struct Counts {
  int operands = -1, results = -1, regions = -1;
};

template <typename ConcreteOp> constexpr Counts countsOf() {
  using namespace mlir::OpTrait;
  Counts counts;
  if (ConcreteOp::template hasTrait<OneOperand>())
    counts.operands = 1;
  if (ConcreteOp::template hasTrait<ZeroResults>())
    counts.results = 0;
  if (ConcreteOp::template hasTrait<OneResult>())
    counts.results = 1;
  if (ConcreteOp::template hasTrait<NResults<2>::Impl>())
    counts.results = 2;
  if (ConcreteOp::template hasTrait<NResults<3>::Impl>())
    counts.results = 3;
  if (ConcreteOp::template hasTrait<ZeroRegions>())
    counts.regions = 0;
  if (ConcreteOp::template hasTrait<OneRegion>())
    counts.regions = 1;
  if (ConcreteOp::template hasTrait<NRegions<2>::Impl>())
    counts.regions = 2;
  return counts;
}

llvm::LogicalResult verifyFirst(mlir::Operation *op, Counts counts);

/// All that MLIR verifies of an op before its regions, with the Rust half first. The op's class is
/// told by its base.
template <typename ConcreteOp, template <typename> class... Traits>
llvm::LogicalResult verifyInvariants(const mlir::Op<ConcreteOp, Traits...> *, mlir::Operation *op) {
  using mlir::op_definition_impl::verifyTraits;
  return llvm::failure(llvm::failed(verifyFirst(op, countsOf<ConcreteOp>())) ||
                       llvm::failed(verifyTraits<Traits<ConcreteOp>...>(op)) ||
                       llvm::failed(llvm::cast<ConcreteOp>(op).verify()));
}

llvm::LogicalResult verifyOp(mlir::Operation *op);
llvm::LogicalResult verifyOpRegions(mlir::Operation *op);

llvm::LogicalResult inferReturnTypes(llvm::StringRef opName, mlir::MLIRContext *context,
                                     std::optional<mlir::Location> location,
                                     mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                     mlir::RegionRange regions,
                                     llvm::SmallVectorImpl<mlir::Type> &inferredReturnTypes);

bool isCompatibleReturnTypes(llvm::StringRef opName, mlir::TypeRange inferred,
                             mlir::TypeRange actual);

void getEffects(
    mlir::Operation *op,
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>> &effects);

mlir::Speculation::Speculatability getSpeculatability(mlir::Operation *op);

llvm::LogicalResult verifySymbolUses(mlir::Operation *op, mlir::SymbolTableCollection &symbolTable);

/// `attributes` and `properties` of an op in one dictionary; where both have a name, the property
/// counts.
mlir::DictionaryAttr mergeProperties(mlir::MLIRContext *context, mlir::DictionaryAttr attributes,
                                     mlir::Attribute properties);

template <typename ConcreteOp>
mlir::DictionaryAttr propertiesToAttributes(mlir::MLIRContext *context,
                                            mlir::DictionaryAttr attributes,
                                            mlir::OpaqueProperties properties) {
  mlir::Attribute propertiesAttr;
  if constexpr (ConcreteOp::hasProperties()) {
    using Properties = typename ConcreteOp::Properties;
    // Callers from before properties existed pass none, and everything in `attributes`.
    if (properties)
      propertiesAttr = ConcreteOp::getPropertiesAsAttr(context, *properties.as<Properties *>());
  }
  return mergeProperties(context, attributes, propertiesAttr);
}

template <typename ConcreteType>
class RustVerified : public mlir::OpTrait::TraitBase<ConcreteType, RustVerified> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyOp(op); }
  static llvm::LogicalResult verifyRegionTrait(mlir::Operation *op) { return verifyOpRegions(op); }
};

// The following only mark an op; what they promise is declared in the op's class by RustOp.td.

template <typename ConcreteType>
class RustInferTypes : public mlir::OpTrait::TraitBase<ConcreteType, RustInferTypes> {};

template <typename ConcreteType>
class RustMemoryEffects : public mlir::OpTrait::TraitBase<ConcreteType, RustMemoryEffects> {};

template <typename ConcreteType>
class RustSpeculatable : public mlir::OpTrait::TraitBase<ConcreteType, RustSpeculatable> {};

template <typename ConcreteType>
class RustSymbolUser : public mlir::OpTrait::TraitBase<ConcreteType, RustSymbolUser> {};

/// Folds all ops of a dialect through slimhloFold. A dialect adds it in `initialize()`:
/// `addInterfaces<slimhlo::RustFoldInterface>();`
class RustFoldInterface : public mlir::DialectFoldInterface {
public:
  using DialectFoldInterface::DialectFoldInterface;

  llvm::LogicalResult fold(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
                           llvm::SmallVectorImpl<mlir::OpFoldResult> &results) const final;
};

} // namespace slimhlo

#endif // SLIMHLO_RUSTOP_H

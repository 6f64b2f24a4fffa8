// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `stablehlo` dialect itself, without anything in it.

#ifndef SLIMHLO_STABLEHLO_DIALECT_TD
#define SLIMHLO_STABLEHLO_DIALECT_TD

include "mlir/IR/DialectBase.td"

// The C++ class is named after this def, without the underscore.
def Stablehlo_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::slimhlo::stablehlo";
  let summary = "Tensor programs as frameworks hand them to compilers";

  let description = [{
    Whole-array operations on immutable tensors: what JAX and other frontends emit and what XLA accepts. Every op, attribute
    and type keeps the spelling other StableHLO tools use, so a module goes in and out as plain text.
  }];

  let dependentDialects = ["::mlir::quant::QuantDialect"];
  let hasConstantMaterializer = 1;
  let useDefaultTypePrinterParser = 1;

  // Attributes are written by hand only because `type_extensions` is an accepted second spelling of `bounds`.
  let useDefaultAttributePrinterParser = 0;

  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser, ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attr, ::mlir::DialectAsmPrinter &printer) const override;

    /// Adds every attribute of this dialect; called once, by `initialize`.
    void registerStablehloAttributes();
    /// Adds every type of this dialect; called once, by `initialize`.
    void registerStablehloTypes();
  }];
}

// Spelled like everything else in it.
defvar StableHLO_Dialect = Stablehlo_Dialect;

#endif // SLIMHLO_STABLEHLO_DIALECT_TD

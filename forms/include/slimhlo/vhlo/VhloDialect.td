// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `vhlo` dialect: StableHLO with a version on everything, as portable artifacts carry it. Its ops are in VhloOps.td, which the
// build script makes of forms/src/vhlo/ops.rs; its attributes and types are of one class each, and of as many kinds as
// forms/src/vhlo/kinds.rs lists.

#ifndef SLIMHLO_VHLO_DIALECT_TD
#define SLIMHLO_VHLO_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Vhlo_Dialect : Dialect {
  let name = "vhlo";
  let cppNamespace = "::slimhlo::vhlo";
  let summary = "StableHLO as portable artifacts carry it";
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser, ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute, ::mlir::DialectAsmPrinter &printer) const override;
    ::mlir::Type parseType(::mlir::DialectAsmParser &parser) const override;
    void printType(::mlir::Type type, ::mlir::DialectAsmPrinter &printer) const override;

    void registerAttributes();
    void registerTypes();
    void registerOps();
  }];
}

class Vhlo_Parts {
  dag parts = (ins
    "unsigned":$kind,
    ArrayRefParameter<"int64_t">:$numbers,
    ArrayRefParameter<"::mlir::Attribute">:$attributes,
    ArrayRefParameter<"::mlir::Type">:$types,
    StringRefParameter<"">:$text);
}

def Vhlo_VersionedAttr : AttrDef<Vhlo_Dialect, "Versioned"> {
  let parameters = Vhlo_Parts<>.parts;
  let attrName = "vhlo.versioned";
}

def Vhlo_VersionedType : TypeDef<Vhlo_Dialect, "Versioned"> {
  let parameters = Vhlo_Parts<>.parts;
  let typeName = "vhlo.versioned";
}

class Vhlo_Op<string mnemonic, list<Trait> traits = []> : Op<Vhlo_Dialect, mnemonic, traits> {
  let results = (outs Variadic<AnyType>:$outs);
  let regions = (region VariadicRegion<AnyRegion>:$bodies);
}

#endif // SLIMHLO_VHLO_DIALECT_TD

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pieces of attribute syntax that op syntax uses too. The names and argument orders are those that
// `custom<...>` in an assembly format calls, both of an attribute and of an op.

#ifndef SLIMHLO_STABLEHLO_ATTRASSEMBLY_H
#define SLIMHLO_STABLEHLO_ATTRASSEMBLY_H

#include "slimhlo/stablehlo/StablehloAttrs.h"

#include "mlir/IR/OpImplementation.h"

namespace slimhlo::stablehlo {

/// `[0, 2]`.
mlir::ParseResult parseDimensions(mlir::AsmParser &parser,
                                  mlir::SmallVectorImpl<int64_t> &dimensions);
void printDimensions(mlir::AsmPrinter &printer, mlir::ArrayRef<int64_t> dimensions);

/// `[b, 0, f]x[0, i, o]->[b, 0, f]`. What labels cannot say stands as a whole attribute instead:
/// `#stablehlo.conv<raw ...>`.
mlir::ParseResult parseConvolutionDimensions(mlir::AsmParser &parser,
                                             ConvDimensionNumbersAttr &dimensions);
void printConvolutionDimensions(mlir::AsmPrinter &printer, ConvDimensionNumbersAttr dimensions);
inline void printConvolutionDimensions(mlir::OpAsmPrinter &printer, mlir::Operation *,
                                       ConvDimensionNumbersAttr dimensions) {
  printConvolutionDimensions(printer, dimensions);
}

/// The second spelling of bounds, `type_extensions<bounds = [3, ?]>`, from the `<` on.
mlir::Attribute parseTypeExtensions(mlir::AsmParser &parser);

} // namespace slimhlo::stablehlo

#endif // SLIMHLO_STABLEHLO_ATTRASSEMBLY_H

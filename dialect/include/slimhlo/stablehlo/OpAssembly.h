// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of op syntax that assembly formats leave to C++: `custom<Name>(...)` calls parseName
// and printName. Printers are also given ops that do not verify, as diagnostics show those, and
// must not rely on anything.

#ifndef SLIMHLO_STABLEHLO_OPASSEMBLY_H
#define SLIMHLO_STABLEHLO_OPASSEMBLY_H

#include "slimhlo/stablehlo/AttrAssembly.h"
#include "slimhlo/stablehlo/Stablehlo.h"

namespace slimhlo::stablehlo {

using Operands = llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand>;
using Types = llvm::SmallVectorImpl<mlir::Type>;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// `tensor<4xf32>` if operands and result are all of that type, else `(tensor<?xf32>) ->
/// tensor<4xf32>`.
mlir::ParseResult parseSameOperandsAndResultType(mlir::OpAsmParser &parser,
                                                 llvm::ArrayRef<mlir::Type *> operands,
                                                 mlir::Type &result);
void printSameOperandsAndResultType(mlir::OpAsmPrinter &printer,
                                    llvm::ArrayRef<mlir::Type> operands, mlir::Type result);

inline mlir::ParseResult parseSameOperandsAndResultType(mlir::OpAsmParser &parser,
                                                        mlir::Type &operand, mlir::Type &result) {
  return parseSameOperandsAndResultType(parser, {&operand}, result);
}
inline mlir::ParseResult parseSameOperandsAndResultType(mlir::OpAsmParser &parser, mlir::Type &lhs,
                                                        mlir::Type &rhs, mlir::Type &result) {
  return parseSameOperandsAndResultType(parser, {&lhs, &rhs}, result);
}
inline mlir::ParseResult parseSameOperandsAndResultType(mlir::OpAsmParser &parser, mlir::Type &a,
                                                        mlir::Type &b, mlir::Type &c,
                                                        mlir::Type &result) {
  return parseSameOperandsAndResultType(parser, {&a, &b, &c}, result);
}
inline void printSameOperandsAndResultType(mlir::OpAsmPrinter &printer, mlir::Operation *,
                                           mlir::Type operand, mlir::Type result) {
  printSameOperandsAndResultType(printer, {operand}, result);
}
inline void printSameOperandsAndResultType(mlir::OpAsmPrinter &printer, mlir::Operation *,
                                           mlir::Type lhs, mlir::Type rhs, mlir::Type result) {
  printSameOperandsAndResultType(printer, {lhs, rhs}, result);
}
inline void printSameOperandsAndResultType(mlir::OpAsmPrinter &printer, mlir::Operation *,
                                           mlir::Type a, mlir::Type b, mlir::Type c,
                                           mlir::Type result) {
  printSameOperandsAndResultType(printer, {a, b, c}, result);
}

/// The complex result type if both operands have its parts for elements, else a function type.
mlir::ParseResult parseComplexTypes(mlir::OpAsmParser &parser, mlir::Type &lhs, mlir::Type &rhs,
                                    mlir::Type &result);
void printComplexTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Type lhs,
                       mlir::Type rhs, mlir::Type result);

/// The predicate's and the result's type if both values have the latter, else a function type.
mlir::ParseResult parseSelectTypes(mlir::OpAsmParser &parser, mlir::Type &pred, mlir::Type &onTrue,
                                   mlir::Type &onFalse, mlir::Type &result);
void printSelectTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Type pred,
                      mlir::Type onTrue, mlir::Type onFalse, mlir::Type result);

/// The tuple type, which has the types of the elements.
mlir::ParseResult parseTupleTypes(mlir::OpAsmParser &parser, Types &elements, mlir::Type &result);
void printTupleTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::TypeRange elements,
                     mlir::Type result);

/// One list of types, for operands and results alike.
mlir::ParseResult parsePairwiseTypes(mlir::OpAsmParser &parser, Types &operands, Types &results);
void printPairwiseTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::TypeRange operands,
                        mlir::TypeRange results);

/// One type, for all operands and the result; a function type is read too.
mlir::ParseResult parseTokenTypes(mlir::OpAsmParser &parser, Operands &inputs, Types &inputTypes,
                                  mlir::Type &result);
void printTokenTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::OperandRange inputs,
                     mlir::TypeRange inputTypes, mlir::Type result);

//===----------------------------------------------------------------------===//
// Operands and regions
//===----------------------------------------------------------------------===//

/// ` %a, %b,`, or nothing: the comma before the keyword that follows would else be taken for one
/// between operands.
mlir::ParseResult parseOperandsBeforeAttribute(mlir::OpAsmParser &parser, Operands &operands);
void printOperandsBeforeAttribute(mlir::OpAsmPrinter &printer, mlir::Operation *,
                                  mlir::OperandRange operands);

/// ` ({...}, {...})`, or nothing.
mlir::ParseResult
parseOptionalRegions(mlir::OpAsmParser &parser,
                     llvm::SmallVectorImpl<std::unique_ptr<mlir::Region>> &regions);
void printOptionalRegions(mlir::OpAsmPrinter &printer, mlir::Operation *,
                          mlir::RegionRange regions);

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// `[0:4:2, 1:3]`: start, limit and, unless it is 1, stride of each dimension.
mlir::ParseResult parseSliceRanges(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &start,
                                   mlir::DenseI64ArrayAttr &limit,
                                   mlir::DenseI64ArrayAttr &strides);
void printSliceRanges(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::DenseI64ArrayAttr start,
                      mlir::DenseI64ArrayAttr limit, mlir::DenseI64ArrayAttr strides);

/// `e5m10`.
mlir::ParseResult parseExponentMantissa(mlir::OpAsmParser &parser, mlir::IntegerAttr &exponent,
                                        mlir::IntegerAttr &mantissa);
void printExponentMantissa(mlir::OpAsmPrinter &printer, mlir::Operation *,
                           mlir::IntegerAttr exponent, mlir::IntegerAttr mantissa);

/// `batching_dims = [0] x [0], contracting_dims = [2] x [1]`; the former only if there are any.
mlir::ParseResult parseDotDimensionNumbers(mlir::OpAsmParser &parser,
                                           DotDimensionNumbersAttr &dimensions);
void printDotDimensionNumbers(mlir::OpAsmPrinter &printer, mlir::Operation *,
                              DotDimensionNumbersAttr dimensions);

/// `, precision = [HIGHEST, DEFAULT]`, or nothing.
mlir::ParseResult parsePrecisionConfig(mlir::OpAsmParser &parser, mlir::ArrayAttr &precision);
void printPrecisionConfig(mlir::OpAsmPrinter &printer, mlir::Operation *,
                          mlir::ArrayAttr precision);

/// `, precision = [...], algorithm = <...>`; each or both may be absent.
mlir::ParseResult parsePrecisionConfigAndAlgorithm(mlir::OpAsmParser &parser,
                                                   mlir::ArrayAttr &precision,
                                                   DotAlgorithmAttr &algorithm);
void printPrecisionConfigAndAlgorithm(mlir::OpAsmPrinter &printer, mlir::Operation *,
                                      mlir::ArrayAttr precision, DotAlgorithmAttr algorithm);

/// `stride = [4, 4], pad = [[0, 0], [0, 0]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse =
/// [false, true]`: those that are given, read in any order.
mlir::ParseResult parseWindowAttributes(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &strides,
                                        mlir::DenseIntElementsAttr &padding,
                                        mlir::DenseI64ArrayAttr &lhsDilation,
                                        mlir::DenseI64ArrayAttr &rhsDilation,
                                        mlir::DenseBoolArrayAttr &reversal);
void printWindowAttributes(mlir::OpAsmPrinter &printer, mlir::Operation *,
                           mlir::DenseI64ArrayAttr strides, mlir::DenseIntElementsAttr padding,
                           mlir::DenseI64ArrayAttr lhsDilation, mlir::DenseI64ArrayAttr rhsDilation,
                           mlir::DenseBoolArrayAttr reversal);

/// A string written like a symbol: `@foo`.
mlir::ParseResult parseCustomCallTarget(mlir::OpAsmParser &parser, mlir::StringAttr &target);
void printCustomCallTarget(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::StringAttr target);

} // namespace slimhlo::stablehlo

#endif // SLIMHLO_STABLEHLO_OPASSEMBLY_H

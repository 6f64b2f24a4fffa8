// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enums of the `sdy` dialect.

#ifndef SLIMHLO_SDY_ENUMS_TD
#define SLIMHLO_SDY_ENUMS_TD

include "mlir/IR/EnumAttr.td"
include "slimhlo/sdy/SdyDialect.td"

def Sdy_PropagationDirection : I32EnumAttr<"PropagationDirection", "direction in which shardings may flow", [
  I32EnumAttrCase<"NONE", 0>,
  I32EnumAttrCase<"FORWARD", 1>,
  I32EnumAttrCase<"BACKWARD", 2>,
  I32EnumAttrCase<"BOTH", 3>,
]> {
  let cppNamespace = "::slimhlo::sdy";
}

def Sdy_EdgeNodeType : I32EnumAttr<"EdgeNodeType", "side of an op that a value is on", [
  I32EnumAttrCase<"OPERAND", 0, "operand">,
  I32EnumAttrCase<"RESULT", 1, "result">,
]> {
  let cppNamespace = "::slimhlo::sdy";
  let genSpecializedAttr = 0;
}

#endif // SLIMHLO_SDY_ENUMS_TD

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types of the `stablehlo` dialect.

#ifndef SLIMHLO_STABLEHLO_TYPES_TD
#define SLIMHLO_STABLEHLO_TYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "slimhlo/stablehlo/StablehloDialect.td"

class StableHLO_TypeDef<string name, string typeMnemonic> : TypeDef<StableHLO_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def StableHLO_Token : StableHLO_TypeDef<"Token", "token"> {
  let summary = "an order between side effects";
  let description = [{
    A value without content. An op that takes a token runs after the op that made it, so effects that touch the world
    outside the program (infeed, send, a custom call) happen in the order the tokens thread through.

    Example: `!stablehlo.token`
  }];
}

def StableHLO_Future : StableHLO_TypeDef<"Future", "future"> {
  let summary = "tensors that an operation under way will produce";
  let description = [{
    What `async_start` returns at once; `async_done` waits for it and gives the tensors. Every element is a ranked tensor.

    Example: `!stablehlo.future<tensor<3xf32>, tensor<?xi32>>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type", "types the finished operation produces">:$types);
  let assemblyFormat = "`<` $types `>`";
  let genVerifyDecl = 1;
}

#endif // SLIMHLO_STABLEHLO_TYPES_TD

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ops of the `stablehlo` dialect, by family.

#ifndef SLIMHLO_STABLEHLO_OPS_TD
#define SLIMHLO_STABLEHLO_OPS_TD

include "slimhlo/stablehlo/StablehloCollectiveOps.td"
include "slimhlo/stablehlo/StablehloControlOps.td"
include "slimhlo/stablehlo/StablehloElementwiseOps.td"
include "slimhlo/stablehlo/StablehloLinalgOps.td"
include "slimhlo/stablehlo/StablehloReductionOps.td"
include "slimhlo/stablehlo/StablehloShapeOps.td"

#endif // SLIMHLO_STABLEHLO_OPS_TD

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SLIMHLO_ALLDIALECTS_H
#define SLIMHLO_ALLDIALECTS_H

#include "slimhlo/chlo/Chlo.h"
#include "slimhlo/sdy/Sdy.h"
#include "slimhlo/stablehlo/Stablehlo.h"

namespace slimhlo {

/// Inserts the stablehlo, chlo and sdy dialects into `registry`. The dialects they depend on follow
/// on loading.
inline void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<stablehlo::StablehloDialect, chlo::ChloDialect, sdy::SdyDialect>();
}

} // namespace slimhlo

#endif // SLIMHLO_ALLDIALECTS_H

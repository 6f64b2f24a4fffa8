#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs slimhlo into a fresh folder, builds the C++ program next to this script against it by find_package alone, runs
# it, and loads the installed plugin into a stock mlir-opt.
#
#   test/consumer/run.sh FOLDER [PROFILE]     PROFILE is dev or release (default); SLIMHLO_CARGO_FLAGS are more flags for cargo build

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?usage: run.sh FOLDER [PROFILE]}
profile=${2:-release}
llvm=${MLIR_SYS_220_PREFIX:-/usr/lib/llvm-22}
rm -rf "$folder/slimhlo" "$folder/prefix" "$folder/consumer"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

cmake -S "$here/../../cmake" -B "$folder/slimhlo" -DSLIMHLO_CARGO_PROFILE="$profile" \
  -DSLIMHLO_CARGO_FLAGS="${SLIMHLO_CARGO_FLAGS:-}"
cmake --install "$folder/slimhlo" --prefix "$folder/prefix"
cmake -S "$here" -B "$folder/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$llvm/bin/clang++" \
  -DCMAKE_C_COMPILER="$llvm/bin/clang" -DCMAKE_PREFIX_PATH="$folder/prefix;$llvm"
cmake --build "$folder/consumer"
"$folder/consumer/consumer" | tee "$folder/out.mlir"
grep -q 'stablehlo.pad' "$folder/out.mlir"

# What it printed is what the installed driver and a stock mlir-opt with the installed plugin read.
plugin=$folder/prefix/lib/libslimhlo.so
[ -e "$plugin" ] || plugin=$(find "$folder/prefix" -name libslimhlo.so)
"$folder/prefix/bin/slimhlo-opt" "$folder/out.mlir" >"$folder/driver.mlir"
"$llvm/bin/mlir-opt" --load-dialect-plugin="$plugin" --load-pass-plugin="$plugin" "$folder/out.mlir" >"$folder/plugin.mlir"
cmp "$folder/driver.mlir" "$folder/plugin.mlir"
echo "consumer: passed"

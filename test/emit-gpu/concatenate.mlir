// RUN: slimhlo-opt %s --slimhlo-emit-gpu --split-input-file | FileCheck %s

// Of buffers, the address is chosen: one load, of neighbours where all parts are aligned.
// CHECK-LABEL: gpu.func @buffers
// CHECK: arith.select %{{[a-z0-9]+}}, %arg1, %arg2 : !llvm.ptr<1>
// CHECK: arith.select %{{[a-z0-9]+}}, %arg0, %{{[a-z0-9]+}} : !llvm.ptr<1>
// CHECK: llvm.load {{.*}}alignment = 16 : i64
// CHECK: llvm.load {{.*}}alignment = 4 : i64
// CHECK: llvm.load {{.*}}alignment = 8 : i64
// CHECK: llvm.load {{.*}}alignment = 4 : i64
// CHECK-NOT: llvm.load
// CHECK: gpu.return
func.func private @buffers(%x: tensor<1024x4096xf32>, %y: tensor<512x4096xf32>, %z: tensor<2560x4096xf32>) -> tensor<4096x4096xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.concatenate %x, %y, %z, dim = 0 : (tensor<1024x4096xf32>, tensor<512x4096xf32>, tensor<2560x4096xf32>) -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

// -----

// Along the last dimension as well.
// CHECK-LABEL: gpu.func @last
// CHECK: arith.select {{.*}} : !llvm.ptr<1>
// CHECK: llvm.load {{.*}}alignment = 16 : i64
// CHECK: gpu.return
func.func private @last(%x: tensor<4096x1024xf32>, %y: tensor<4096x2048xf32>) -> tensor<4096x3072xf32> attributes {slimhlo.kernel = "map"} {
  %r = stablehlo.concatenate %x, %y, dim = 1 : (tensor<4096x1024xf32>, tensor<4096x2048xf32>) -> tensor<4096x3072xf32>
  return %r : tensor<4096x3072xf32>
}

// -----

// Where something is computed, elements are chosen.
// CHECK-LABEL: gpu.func @computed
// CHECK-NOT: arith.select {{.*}} : !llvm.ptr<1>
// CHECK: math.sin
// CHECK: arith.select {{.*}} : f32
// CHECK: gpu.return
func.func private @computed(%x: tensor<100xf32>, %y: tensor<100xf32>) -> tensor<200xf32> attributes {slimhlo.kernel = "map"} {
  %s = stablehlo.sine %x : tensor<100xf32>
  %r = stablehlo.concatenate %s, %y, dim = 0 : (tensor<100xf32>, tensor<100xf32>) -> tensor<200xf32>
  return %r : tensor<200xf32>
}

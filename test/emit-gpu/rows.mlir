// RUN: slimhlo-opt %s --slimhlo-emit-gpu --split-input-file | FileCheck %s

// Short rows: a warp each. Each element is loaded once, two by each thread, kept from the sum to the quotient, and the sum
// handed to all threads. With other numbers of threads the row is read again. Blocks are small, so that each multiprocessor has several.
// CHECK-LABEL: gpu.func @warps
// CHECK-NOT: workgroup
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 512, 1, 1>
// CHECK: scf.if
// CHECK: scf.for
// CHECK: llvm.load {{.*}}alignment = 8
// CHECK: llvm.load
// CHECK-NOT: llvm.load
// CHECK: gpu.shuffle{{.*}}down
// CHECK: gpu.shuffle{{.*}}idx
// CHECK-NOT: llvm.load
// CHECK: arith.divf
// CHECK: arith.divf
// CHECK: llvm.store
// CHECK: llvm.store
// CHECK: } else {
// CHECK: llvm.load
// CHECK: scf.for
// CHECK: llvm.load
// CHECK: gpu.shuffle{{.*}}idx
// CHECK: scf.for
// CHECK: llvm.load
// CHECK: llvm.store
// CHECK: gpu.return
// CHECK-NOT: gpu.func
func.func private @warps(%x: tensor<2048x64xf32>) -> tensor<2048x64xf32> attributes {slimhlo.kernel = "rows"} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x64xf32>, tensor<f32>) -> tensor<2048xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<2048xf32>) -> tensor<2048x64xf32>
  %y = stablehlo.divide %x, %b : tensor<2048x64xf32>
  return %y : tensor<2048x64xf32>
}

// -----

// Many rows: large blocks are enough.
// CHECK-LABEL: gpu.func @many
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 512, 1, 1>
func.func private @many(%x: tensor<4096x64xf32>) -> tensor<4096x64xf32> attributes {slimhlo.kernel = "rows"} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x64xf32>, tensor<f32>) -> tensor<4096xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4096xf32>) -> tensor<4096x64xf32>
  %y = stablehlo.divide %x, %b : tensor<4096x64xf32>
  return %y : tensor<4096x64xf32>
}

// -----

// Longer ones: a block each, of as many threads as have 16 elements. What is computed for the sum is not computed again, and
// what comes to one number for a row is stored by one thread.
// CHECK-LABEL: gpu.func @blocks
// CHECK-SAME: workgroup(%{{[a-z0-9]+}} : memref<32xi32, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 300, 1, 1>
// CHECK: scf.if
// CHECK-COUNT-16: llvm.load
// CHECK: gpu.barrier
// CHECK-COUNT-16: math.exp
// CHECK-NOT: llvm.load
// CHECK-NOT: math.exp
// CHECK: gpu.barrier
// CHECK-NOT: math.exp
// CHECK: llvm.store {{.*}}!llvm.ptr<1>
// CHECK-COUNT-16: llvm.store {{.*}}!llvm.ptr<1>
// CHECK: } else {
// CHECK: gpu.return
func.func private @blocks(%x: tensor<300x4096xf32>) -> (tensor<300x4096xf32>, tensor<300xf32>) attributes {slimhlo.kernel = "rows"} {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<300x4096xf32>, tensor<f32>) -> tensor<300xf32>
  %0 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<300xf32>) -> tensor<300x4096xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<300x4096xf32>
  %2 = stablehlo.exponential %1 : tensor<300x4096xf32>
  %s = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<300x4096xf32>, tensor<f32>) -> tensor<300xf32>
  %3 = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<300xf32>) -> tensor<300x4096xf32>
  %4 = stablehlo.divide %2, %3 : tensor<300x4096xf32>
  return %4, %s : tensor<300x4096xf32>, tensor<300xf32>
}

// -----

// What threads have of the end of a row may be beyond it: they stay within the row, and store nothing.
// CHECK-LABEL: gpu.func @in_part
// CHECK: arith.cmpi ult
// CHECK: arith.minui
// CHECK: arith.select
// CHECK: gpu.shuffle{{.*}}idx
// CHECK: llvm.store
// CHECK: scf.if
// CHECK-NEXT: {{llvm.getelementptr|llvm.store}}
// CHECK: gpu.return
func.func private @in_part(%x: tensor<3000x33xf32>) -> tensor<3000x33xf32> attributes {slimhlo.kernel = "rows"} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3000x33xf32>, tensor<f32>) -> tensor<3000xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<3000xf32>) -> tensor<3000x33xf32>
  %y = stablehlo.subtract %x, %b : tensor<3000x33xf32>
  return %y : tensor<3000x33xf32>
}

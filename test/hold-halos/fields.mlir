// RUN: slimhlo-opt %s --slimhlo-hold-halos="target=h100" --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-hold-halos="target=xla-cpu" --split-input-file | FileCheck %s --check-prefix=OTHER
// RUN: slimhlo-opt %s --slimhlo-hold-halos="target=v5p" --split-input-file | FileCheck %s --check-prefix=OTHER

// OTHER-NOT: optimization_barrier

// Neighbours on both sides: one array, not two.
// CHECK-LABEL: func.func @both
// CHECK: %[[HALO:[0-9]+]] = stablehlo.concatenate
// CHECK: %[[HELD:[0-9]+]] = stablehlo.optimization_barrier %[[HALO]]
// CHECK: stablehlo.slice %[[HELD]] [0:1024, 0:1024]
// CHECK: stablehlo.slice %[[HELD]] [0:1024, 2:1026]
func.func @both(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %last = stablehlo.slice %x [0:1024, 1023:1024] : (tensor<1024x1024xf32>) -> tensor<1024x1xf32>
  %first = stablehlo.slice %x [0:1024, 0:1] : (tensor<1024x1024xf32>) -> tensor<1024x1xf32>
  %halo = stablehlo.concatenate %last, %x, %first, dim = 1 : (tensor<1024x1xf32>, tensor<1024x1024xf32>, tensor<1024x1xf32>) -> tensor<1024x1026xf32>
  %west = stablehlo.slice %halo [0:1024, 0:1024] : (tensor<1024x1026xf32>) -> tensor<1024x1024xf32>
  %east = stablehlo.slice %halo [0:1024, 2:1026] : (tensor<1024x1026xf32>) -> tensor<1024x1024xf32>
  %d = stablehlo.subtract %east, %west : tensor<1024x1024xf32>
  return %d : tensor<1024x1024xf32>
}

// -----

// Halos along two dimensions: what is read of rows in the middle XLA reads of the inner one. The outer one has it all.
// CHECK-LABEL: func.func @nested
// CHECK: stablehlo.concatenate {{.*}} dim = 1
// CHECK-NOT: optimization_barrier
// CHECK: %[[HALO:[0-9]+]] = stablehlo.concatenate {{.*}} dim = 0
// CHECK: %[[HELD:[0-9]+]] = stablehlo.optimization_barrier %[[HALO]]
// CHECK-COUNT-2: stablehlo.slice %[[HELD]]
// CHECK-NOT: optimization_barrier
func.func @nested(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %last = stablehlo.slice %x [0:1024, 1023:1024] : (tensor<1024x1024xf32>) -> tensor<1024x1xf32>
  %first = stablehlo.slice %x [0:1024, 0:1] : (tensor<1024x1024xf32>) -> tensor<1024x1xf32>
  %inner = stablehlo.concatenate %last, %x, %first, dim = 1 : (tensor<1024x1xf32>, tensor<1024x1024xf32>, tensor<1024x1xf32>) -> tensor<1024x1026xf32>
  %top = stablehlo.slice %inner [0:1, 0:1026] : (tensor<1024x1026xf32>) -> tensor<1x1026xf32>
  %bottom = stablehlo.slice %inner [1023:1024, 0:1026] : (tensor<1024x1026xf32>) -> tensor<1x1026xf32>
  %halo = stablehlo.concatenate %top, %inner, %bottom, dim = 0 : (tensor<1x1026xf32>, tensor<1024x1026xf32>, tensor<1x1026xf32>) -> tensor<1026x1026xf32>
  %north = stablehlo.slice %halo [0:1024, 1:1025] : (tensor<1026x1026xf32>) -> tensor<1024x1024xf32>
  %east = stablehlo.slice %halo [1:1025, 2:1026] : (tensor<1026x1026xf32>) -> tensor<1024x1024xf32>
  %d = stablehlo.subtract %east, %north : tensor<1024x1024xf32>
  return %d : tensor<1024x1024xf32>
}

// -----

// Halos of an outer dimension that only the result has: who reads neighbours reads none of them, and is asked of what has the others.
// CHECK-LABEL: func.func @outer
// CHECK: %[[HALO:[0-9]+]] = stablehlo.concatenate {{.*}} dim = 1
// CHECK: %[[HELD:[0-9]+]] = stablehlo.optimization_barrier %[[HALO]]
// CHECK: %[[ALL:[0-9]+]] = stablehlo.concatenate {{.*}} dim = 0
// CHECK-NOT: optimization_barrier
// CHECK: return {{.*}}%[[ALL]]
func.func @outer(%x: tensor<1024x1024xf32>, %edge: tensor<1x1026xf32>) -> (tensor<1024x1024xf32>, tensor<1026x1026xf32>) {
  %last = stablehlo.slice %x [0:1024, 1023:1024] : (tensor<1024x1024xf32>) -> tensor<1024x1xf32>
  %first = stablehlo.slice %x [0:1024, 0:1] : (tensor<1024x1024xf32>) -> tensor<1024x1xf32>
  %halo = stablehlo.concatenate %last, %x, %first, dim = 1 : (tensor<1024x1xf32>, tensor<1024x1024xf32>, tensor<1024x1xf32>) -> tensor<1024x1026xf32>
  %all = stablehlo.concatenate %edge, %halo, %edge, dim = 0 : (tensor<1x1026xf32>, tensor<1024x1026xf32>, tensor<1x1026xf32>) -> tensor<1026x1026xf32>
  %west = stablehlo.slice %all [1:1025, 0:1024] : (tensor<1026x1026xf32>) -> tensor<1024x1024xf32>
  %east = stablehlo.slice %all [1:1025, 2:1026] : (tensor<1026x1026xf32>) -> tensor<1024x1024xf32>
  %d = stablehlo.subtract %east, %west : tensor<1024x1024xf32>
  return %d, %all : tensor<1024x1024xf32>, tensor<1026x1026xf32>
}

// -----

// All that is read has the same parts, or one each: nothing else would be stored.
// CHECK-LABEL: func.func @alike
// CHECK-NOT: optimization_barrier
func.func @alike(%x: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1xf32>) {
  %last = stablehlo.slice %x [0:1024, 1023:1024] : (tensor<1024x1024xf32>) -> tensor<1024x1xf32>
  %first = stablehlo.slice %x [0:1024, 0:1] : (tensor<1024x1024xf32>) -> tensor<1024x1xf32>
  %halo = stablehlo.concatenate %last, %x, %first, dim = 1 : (tensor<1024x1xf32>, tensor<1024x1024xf32>, tensor<1024x1xf32>) -> tensor<1024x1026xf32>
  %west = stablehlo.slice %halo [0:1024, 0:1024] : (tensor<1024x1026xf32>) -> tensor<1024x1024xf32>
  %middle = stablehlo.slice %halo [0:1024, 1:1025] : (tensor<1024x1026xf32>) -> tensor<1024x1024xf32>
  %end = stablehlo.slice %halo [0:1024, 1025:1026] : (tensor<1024x1026xf32>) -> tensor<1024x1xf32>
  %d = stablehlo.subtract %middle, %west : tensor<1024x1024xf32>
  return %d, %end : tensor<1024x1024xf32>, tensor<1024x1xf32>
}

// -----

// Every other row is cut out of what there is.
// CHECK-LABEL: func.func @strided
// CHECK-NOT: optimization_barrier
func.func @strided(%x: tensor<1024x1024xf32>, %edge: tensor<1024x1xf32>) -> tensor<1024x512xf32> {
  %halo = stablehlo.concatenate %edge, %x, %edge, dim = 1 : (tensor<1024x1xf32>, tensor<1024x1024xf32>, tensor<1024x1xf32>) -> tensor<1024x1026xf32>
  %west = stablehlo.slice %halo [0:1024, 0:1024:2] : (tensor<1024x1026xf32>) -> tensor<1024x512xf32>
  %east = stablehlo.slice %halo [0:1024, 2:1026:2] : (tensor<1024x1026xf32>) -> tensor<1024x512xf32>
  %d = stablehlo.subtract %east, %west : tensor<1024x512xf32>
  return %d : tensor<1024x512xf32>
}

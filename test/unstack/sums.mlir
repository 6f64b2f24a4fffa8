// RUN: slimhlo-opt %s --slimhlo-unstack=sums=true --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-unstack --split-input-file | FileCheck %s --check-prefix=WITHOUT

// Samples' gradients of two parameters side by side: the matrix of their products is a sum of two, the mean of each is put
// together again, and what is sliced is of one part.
// CHECK-LABEL: func.func @kernel
// CHECK: %[[A:.*]] = stablehlo.broadcast_in_dim {{.*}} -> tensor<256x64xf32>
// CHECK: %[[B:.*]] = stablehlo.reshape {{.*}} -> tensor<256x8192xf32>
// CHECK: %[[KA:.*]] = stablehlo.dot_general %[[A]], %[[A]], contracting_dims = [1] x [1]
// CHECK: %[[KB:.*]] = stablehlo.dot_general %[[B]], %[[B]], contracting_dims = [1] x [1]
// CHECK: %[[K:.*]] = stablehlo.add %[[KA]], %[[KB]] : tensor<256x256xf32>
// CHECK: %[[SA:.*]] = stablehlo.reduce(%[[A]] init: %{{.*}}) {{.*}} -> tensor<64xf32>
// CHECK: %[[SB:.*]] = stablehlo.reduce(%[[B]] init: %{{.*}}) {{.*}} -> tensor<8192xf32>
// CHECK: %[[S:.*]] = stablehlo.concatenate %[[SA]], %[[SB]], dim = 0
// CHECK: return %[[K]], %[[S]], %[[SA]]
// WITHOUT-LABEL: func.func @kernel
// WITHOUT: stablehlo.concatenate
// WITHOUT: stablehlo.dot_general {{.*}} tensor<256x8256xf32>
func.func @kernel(%x: tensor<256x64xf32>, %y: tensor<256x128xf32>, %z: tensor<64xf32>) -> (tensor<256x256xf32>, tensor<8256xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %z, dims = [1] : (tensor<64xf32>) -> tensor<256x64xf32>
  %rows = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<256x64xf32>) -> tensor<256x64x128xf32>
  %columns = stablehlo.broadcast_in_dim %y, dims = [0, 2] : (tensor<256x128xf32>) -> tensor<256x64x128xf32>
  %outer = stablehlo.multiply %rows, %columns : tensor<256x64x128xf32>
  %b = stablehlo.reshape %outer : (tensor<256x64x128xf32>) -> tensor<256x8192xf32>
  %all = stablehlo.concatenate %a, %b, dim = 1 : (tensor<256x64xf32>, tensor<256x8192xf32>) -> tensor<256x8256xf32>
  %k = stablehlo.dot_general %all, %all, contracting_dims = [1] x [1] : (tensor<256x8256xf32>, tensor<256x8256xf32>) -> tensor<256x256xf32>
  %s = stablehlo.reduce(%all init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<256x8256xf32>, tensor<f32>) -> tensor<8256xf32>
  %first = stablehlo.slice %s [0:64] : (tensor<8256xf32>) -> tensor<64xf32>
  return %k, %s, %first : tensor<256x256xf32>, tensor<8256xf32>, tensor<64xf32>
}

// -----

// What starts from something takes it once.
// CHECK-LABEL: func.func @sum
// CHECK: %[[A:.*]] = stablehlo.reduce(%{{.*}} init: %arg1)
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
// CHECK: %[[B:.*]] = stablehlo.reduce(%{{.*}} init: %[[ZERO]])
// CHECK: stablehlo.add %[[A]], %[[B]]
func.func @sum(%y: tensor<128xf32>, %init: tensor<f32>) -> tensor<f32> {
  %a = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<128xf32>) -> tensor<512x128xf32>
  %b = stablehlo.sine %a : tensor<512x128xf32>
  %all = stablehlo.concatenate %a, %b, dim = 0 : (tensor<512x128xf32>, tensor<512x128xf32>) -> tensor<1024x128xf32>
  %s = stablehlo.reduce(%all init: %init) applies stablehlo.add across dimensions = [0, 1] : (tensor<1024x128xf32>, tensor<f32>) -> tensor<f32>
  return %s : tensor<f32>
}

// -----

// Parts that are stored anyway stay joined; so does what is wanted as a whole.
// CHECK-LABEL: func.func @given
// CHECK: stablehlo.concatenate
// CHECK: stablehlo.dot_general {{.*}} tensor<256x8256xf32>
func.func @given(%a: tensor<256x64xf32>, %x: tensor<256x4096xf32>, %w: tensor<4096x8192xf32>) -> tensor<256x256xf32> {
  %b = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x4096xf32>, tensor<4096x8192xf32>) -> tensor<256x8192xf32>
  %all = stablehlo.concatenate %a, %b, dim = 1 : (tensor<256x64xf32>, tensor<256x8192xf32>) -> tensor<256x8256xf32>
  %k = stablehlo.dot_general %all, %all, contracting_dims = [1] x [1] : (tensor<256x8256xf32>, tensor<256x8256xf32>) -> tensor<256x256xf32>
  return %k : tensor<256x256xf32>
}

// CHECK-LABEL: func.func @whole
// CHECK: stablehlo.concatenate
// CHECK: stablehlo.dot_general {{.*}} tensor<512x1024xf32>
func.func @whole(%y: tensor<512xf32>) -> (tensor<512x512xf32>, tensor<512x1024xf32>) {
  %a = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<512xf32>) -> tensor<512x512xf32>
  %b = stablehlo.sine %a : tensor<512x512xf32>
  %all = stablehlo.concatenate %a, %b, dim = 1 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x1024xf32>
  %k = stablehlo.dot_general %all, %all, contracting_dims = [1] x [1] : (tensor<512x1024xf32>, tensor<512x1024xf32>) -> tensor<512x512xf32>
  return %k, %all : tensor<512x512xf32>, tensor<512x1024xf32>
}

// -----

// Narrow sums would be rounded in between.
// CHECK-LABEL: func.func @narrow
// CHECK: stablehlo.dot_general {{.*}} tensor<512x1024xbf16>
func.func @narrow(%y: tensor<512xbf16>) -> tensor<8x8xbf16> {
  %a = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<512xbf16>) -> tensor<512x512xbf16>
  %b = stablehlo.sine %a : tensor<512x512xbf16>
  %all = stablehlo.concatenate %a, %b, dim = 1 : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x1024xbf16>
  %k = stablehlo.dot_general %all, %all, contracting_dims = [1] x [1] : (tensor<512x1024xbf16>, tensor<512x1024xbf16>) -> tensor<512x512xbf16>
  %corner = stablehlo.slice %k [0:8, 0:8] : (tensor<512x512xbf16>) -> tensor<8x8xbf16>
  return %corner : tensor<8x8xbf16>
}

// -----

// A population of random members and their opposites: nothing is added up over the members, but what is made of the one half is made of
// the other, and wanted of all of it are slices of one half, and one member, wherever that is.
// CHECK-LABEL: func.func @population
// CHECK-NOT: stablehlo.add %{{.*}} : tensor<256x4096xf32>
// CHECK: %[[A:.*]] = stablehlo.add %{{.*}} : tensor<128x4096xf32>
// CHECK: %[[B:.*]] = stablehlo.add %{{.*}} : tensor<128x4096xf32>
// CHECK: %[[LA:.*]] = stablehlo.reduce(%[[A]] init: {{.*}} -> tensor<128xf32>
// CHECK: %[[LB:.*]] = stablehlo.reduce(%[[B]] init: {{.*}} -> tensor<128xf32>
// CHECK: %[[L:.*]] = stablehlo.concatenate %[[LA]], %[[LB]], dim = 0
// CHECK: %[[FROM:.*]] = stablehlo.subtract %arg2, %[[HALF:.*]] : tensor<i32>
// CHECK: %[[LATE:.*]] = stablehlo.dynamic_slice %[[B]], %[[FROM]], %{{.*}}, sizes = [1, 4096]
// CHECK: %[[IS_LATE:.*]] = stablehlo.compare GE, %arg2, %[[HALF]]
// CHECK: %[[BEST:.*]] = stablehlo.select %[[IS_LATE]], %[[LATE]], %{{.*}}
// CHECK: return %[[L]], %[[BEST]], %[[A]]
// WITHOUT-LABEL: func.func @population
// WITHOUT: stablehlo.concatenate
// WITHOUT: stablehlo.add {{.*}} : tensor<256x4096xf32>
func.func @population(%known: tensor<4096xf32>, %spread: tensor<128xf32>, %best: tensor<i32>) -> (tensor<256xf32>, tensor<1x4096xf32>, tensor<128x4096xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %wide = stablehlo.broadcast_in_dim %spread, dims = [0] : (tensor<128xf32>) -> tensor<128x4096xf32>
  %noise = stablehlo.sine %wide : tensor<128x4096xf32>
  %other = stablehlo.negate %noise : tensor<128x4096xf32>
  %both = stablehlo.concatenate %noise, %other, dim = 0 : (tensor<128x4096xf32>, tensor<128x4096xf32>) -> tensor<256x4096xf32>
  %center = stablehlo.broadcast_in_dim %known, dims = [1] : (tensor<4096xf32>) -> tensor<256x4096xf32>
  %members = stablehlo.add %center, %both : tensor<256x4096xf32>
  %losses = stablehlo.reduce(%members init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<256x4096xf32>, tensor<f32>) -> tensor<256xf32>
  %one = stablehlo.dynamic_slice %members, %best, %c0, sizes = [1, 4096] : (tensor<256x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4096xf32>
  %half = stablehlo.slice %members [0:128, 0:4096] : (tensor<256x4096xf32>) -> tensor<128x4096xf32>
  return %losses, %one, %half : tensor<256xf32>, tensor<1x4096xf32>, tensor<128x4096xf32>
}

// -----

// Halves that have nothing to do with one another: nothing is gained.
// CHECK-LABEL: func.func @strangers
// CHECK: stablehlo.add {{.*}} : tensor<256x4096xf32>
func.func @strangers(%known: tensor<4096xf32>, %spread: tensor<128xf32>, %more: tensor<128xf32>) -> tensor<256xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %wide = stablehlo.broadcast_in_dim %spread, dims = [0] : (tensor<128xf32>) -> tensor<128x4096xf32>
  %other = stablehlo.broadcast_in_dim %more, dims = [0] : (tensor<128xf32>) -> tensor<128x4096xf32>
  %both = stablehlo.concatenate %wide, %other, dim = 0 : (tensor<128x4096xf32>, tensor<128x4096xf32>) -> tensor<256x4096xf32>
  %center = stablehlo.broadcast_in_dim %known, dims = [1] : (tensor<4096xf32>) -> tensor<256x4096xf32>
  %members = stablehlo.add %center, %both : tensor<256x4096xf32>
  %losses = stablehlo.reduce(%members init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<256x4096xf32>, tensor<f32>) -> tensor<256xf32>
  return %losses : tensor<256xf32>
}

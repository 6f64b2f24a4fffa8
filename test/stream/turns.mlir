// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=1024" --canonicalize --cse | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-stream="target=xla-cpu chunk-bytes=1024" --slimhlo-stream="target=xla-cpu chunk-bytes=1024" --canonicalize --cse | FileCheck %s

// All turns for one chunk, then for the next. What decides how often, and by what is shifted, is the same for all chunks.
// CHECK-LABEL: func @bits
// CHECK: stablehlo.while(%[[I:[^ ,]*]] = %{{[^ ,]*}}, %[[SUM:[^ ,]*]] = %{{[^ ,]*}}, {{.*}} : tensor<i64>, tensor<ui32>
// CHECK: stablehlo.while({{.*}} : tensor<i32>, tensor<[[CHUNK:[0-9]+]]xui32>, tensor<[[CHUNK]]xui32>, tensor<2xui32>
// CHECK: stablehlo.shift_left {{.*}} : tensor<[[CHUNK]]xui32>
// CHECK: stablehlo.reduce({{.*}} : (tensor<[[CHUNK]]xui32>
// CHECK-NOT: tensor<65536xui32>
// CHECK: {{^ *}}return
func.func @bits(%key: tensor<ui32>, %by: tensor<2xui32>) -> tensor<ui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0> : tensor<ui32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %ones = stablehlo.constant dense<1> : tensor<65536xui32>
  %places = stablehlo.iota dim = 0 : tensor<65536xui32>
  %keys = stablehlo.broadcast_in_dim %key, dims = [] : (tensor<ui32>) -> tensor<65536xui32>
  %0:4 = stablehlo.while(%i = %zero, %x = %places, %y = %keys, %r = %by) : tensor<i32>, tensor<65536xui32>, tensor<65536xui32>, tensor<2xui32>
  cond {
    %more = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %first = stablehlo.slice %r [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %scalar = stablehlo.reshape %first : (tensor<1xui32>) -> tensor<ui32>
    %bits = stablehlo.broadcast_in_dim %scalar, dims = [] : (tensor<ui32>) -> tensor<65536xui32>
    %sum = stablehlo.add %x, %y : tensor<65536xui32>
    %shifted = stablehlo.shift_left %y, %bits : tensor<65536xui32>
    %more = stablehlo.add %shifted, %ones : tensor<65536xui32>
    %mixed = stablehlo.xor %sum, %more : tensor<65536xui32>
    %turned = stablehlo.reverse %r, dims = [0] : tensor<2xui32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %sum, %mixed, %turned : tensor<i32>, tensor<65536xui32>, tensor<65536xui32>, tensor<2xui32>
  }
  %both = stablehlo.xor %0#1, %0#2 : tensor<65536xui32>
  %sum = stablehlo.reduce(%both init: %none) applies stablehlo.add across dimensions = [0] : (tensor<65536xui32>, tensor<ui32>) -> tensor<ui32>
  return %sum : tensor<ui32>
}

// What is made of next to nothing is put in its place, whoever needs it; rows of a mask, here.
// CHECK-LABEL: func @mask
// CHECK: stablehlo.while(%{{[^ ,]*}} = %{{[^ ,]*}}, %[[MASK:[^ ,]*]] = %{{[^ ,]*}}, {{.*}} : tensor<i64>, tensor<256x256xi1>
// CHECK: stablehlo.while({{.*}} : tensor<i32>, tensor<[[ROWS:[0-9]+]]x256xi32>
// CHECK: %[[SOME:.*]] = stablehlo.compare LT, {{.*}} -> tensor<[[ROWS]]x256xi1>
// CHECK: stablehlo.dynamic_update_slice %[[MASK]], %[[SOME]]
// CHECK-NOT: tensor<256x256xi32>
// CHECK: {{^ *}}return
func.func @mask(%limit: tensor<i32>) -> tensor<256x256xi1> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %places = stablehlo.iota dim = 1 : tensor<256x256xi32>
  %0:2 = stablehlo.while(%i = %zero, %x = %places) : tensor<i32>, tensor<256x256xi32>
  cond {
    %more = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %square = stablehlo.multiply %x, %x : tensor<256x256xi32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %square : tensor<i32>, tensor<256x256xi32>
  }
  %limits = stablehlo.broadcast_in_dim %limit, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
  %mask = stablehlo.compare LT, %0#1, %limits, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
  return %mask : tensor<256x256xi1>
}

// Neighbours are read, so that no chunk can be done by itself.
// CHECK-LABEL: func @neighbours
// CHECK: stablehlo.while(
// CHECK-NOT: stablehlo.while(
// CHECK: {{^ *}}return
func.func @neighbours(%x: tensor<65536xi32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<65536xi32>
  cond {
    %more = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %from = stablehlo.slice %y [1:65536] : (tensor<65536xi32>) -> tensor<65535xi32>
    %shifted = stablehlo.pad %from, %zero, low = [0], high = [1], interior = [0] : (tensor<65535xi32>, tensor<i32>) -> tensor<65536xi32>
    %sum = stablehlo.add %y, %shifted : tensor<65536xi32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<65536xi32>
  }
  %sum = stablehlo.reduce(%0#1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<65536xi32>, tensor<i32>) -> tensor<i32>
  return %sum : tensor<i32>
}

// Whether another turn follows is decided by one of the elements.
// CHECK-LABEL: func @until_it_is_large
// CHECK: stablehlo.while(
// CHECK-NOT: stablehlo.while(
// CHECK: {{^ *}}return
func.func @until_it_is_large(%x: tensor<65536xi32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %large = stablehlo.constant dense<1000000> : tensor<i32>
  %0 = stablehlo.while(%y = %x) : tensor<65536xi32>
  cond {
    %first = stablehlo.slice %y [0:1] : (tensor<65536xi32>) -> tensor<1xi32>
    %scalar = stablehlo.reshape %first : (tensor<1xi32>) -> tensor<i32>
    %more = stablehlo.compare LT, %scalar, %large, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %sum = stablehlo.add %y, %y : tensor<65536xi32>
    stablehlo.return %sum : tensor<65536xi32>
  }
  %sum = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<65536xi32>, tensor<i32>) -> tensor<i32>
  return %sum : tensor<i32>
}

// RUN: slimhlo-opt %s --slimhlo-narrow-updates="least-bytes=1" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-narrow-updates="least-bytes=1" | slimhlo-opt --slimhlo-narrow-updates="least-bytes=1" | FileCheck %s

// The bits of -0.0.
// CHECK-LABEL: func.func @computed
func.func @computed(%rows: tensor<3x4xbf16>) -> tensor<12x4xf32> {
  // CHECK: %[[START:.*]] = stablehlo.constant dense<-32768> : tensor<12x4xi16>
  // CHECK: %[[LOOP:.*]]:2 = stablehlo.while({{.*}}, %[[ALL:.*]] = %[[START]]) : tensor<i64>, tensor<12x4xi16>
  // CHECK: %[[BITS:.*]] = stablehlo.bitcast_convert %arg0 : (tensor<3x4xbf16>) -> tensor<3x4xi16>
  // CHECK: stablehlo.dynamic_update_slice %[[ALL]], %[[BITS]]
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %c3 = stablehlo.constant dense<3> : tensor<i64>
  %c12 = stablehlo.constant dense<12> : tensor<i64>
  %start = stablehlo.constant dense<-0.0> : tensor<12x4xbf16>
  %0:2 = stablehlo.while(%i = %c0, %all = %start) : tensor<i64>, tensor<12x4xbf16>
    cond {
      %more = stablehlo.compare LT, %i, %c12, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.dynamic_update_slice %all, %rows, %i, %c0 : (tensor<12x4xbf16>, tensor<3x4xbf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xbf16>
      %on = stablehlo.add %i, %c3 : tensor<i64>
      stablehlo.return %on, %next : tensor<i64>, tensor<12x4xbf16>
    }
  // CHECK: %[[FLOAT:.*]] = stablehlo.bitcast_convert %[[LOOP]]#1 : (tensor<12x4xi16>) -> tensor<12x4xbf16>
  // CHECK: stablehlo.convert %[[FLOAT]]
  %1 = stablehlo.convert %0#1 : (tensor<12x4xbf16>) -> tensor<12x4xf32>
  return %1 : tensor<12x4xf32>
}

// What is moved from it are bits, until someone needs floats; so is what a turn reads of it.
// CHECK-LABEL: func.func @moved
func.func @moved(%rows: tensor<3x4xbf16>) -> tensor<4x5xbf16> {
  // CHECK: %[[LOOP:.*]]:2 = stablehlo.while
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %c3 = stablehlo.constant dense<3> : tensor<i64>
  %c12 = stablehlo.constant dense<12> : tensor<i64>
  %start = stablehlo.constant dense<-0.0> : tensor<12x4xbf16>
  %0:2 = stablehlo.while(%i = %c0, %all = %start) : tensor<i64>, tensor<12x4xbf16>
    cond {
      %more = stablehlo.compare LT, %i, %c12, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      // CHECK: %[[BEFORE:.*]] = stablehlo.dynamic_slice %[[ALL:[^,]*]], {{.*}} -> tensor<3x4xi16>
      // CHECK: %[[FLOATS:.*]] = stablehlo.bitcast_convert %[[BEFORE]]
      // CHECK: %[[SUM:.*]] = stablehlo.add %[[FLOATS]], %arg0
      // CHECK: %[[BITS:.*]] = stablehlo.bitcast_convert %[[SUM]]
      // CHECK: stablehlo.dynamic_update_slice %[[ALL]], %[[BITS]]
      %before = stablehlo.dynamic_slice %all, %i, %c0, sizes = [3, 4] : (tensor<12x4xbf16>, tensor<i64>, tensor<i64>) -> tensor<3x4xbf16>
      %sum = stablehlo.add %before, %rows : tensor<3x4xbf16>
      %next = stablehlo.dynamic_update_slice %all, %sum, %i, %c0 : (tensor<12x4xbf16>, tensor<3x4xbf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xbf16>
      %on = stablehlo.add %i, %c3 : tensor<i64>
      stablehlo.return %on, %next : tensor<i64>, tensor<12x4xbf16>
    }
  // CHECK: %[[SLICE:.*]] = stablehlo.slice %[[LOOP]]#1 [0:5, 0:4] : (tensor<12x4xi16>) -> tensor<5x4xi16>
  // CHECK: %[[ROWS:.*]] = stablehlo.transpose %[[SLICE]], dims = [1, 0] : (tensor<5x4xi16>) -> tensor<4x5xi16>
  // CHECK: stablehlo.bitcast_convert %[[ROWS]] : (tensor<4x5xi16>) -> tensor<4x5xbf16>
  %1 = stablehlo.slice %0#1 [0:5, 0:4] : (tensor<12x4xbf16>) -> tensor<5x4xbf16>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<5x4xbf16>) -> tensor<4x5xbf16>
  return %2 : tensor<4x5xbf16>
}

// All of it is needed as it is: integers would have to be copied for that.
// CHECK-LABEL: func.func @returned
func.func @returned(%rows: tensor<3x4xbf16>) -> tensor<12x4xbf16> {
  // CHECK-NOT: xi16
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %c3 = stablehlo.constant dense<3> : tensor<i64>
  %c12 = stablehlo.constant dense<12> : tensor<i64>
  %start = stablehlo.constant dense<-0.0> : tensor<12x4xbf16>
  %0:2 = stablehlo.while(%i = %c0, %all = %start) : tensor<i64>, tensor<12x4xbf16>
    cond {
      %more = stablehlo.compare LT, %i, %c12, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.dynamic_update_slice %all, %rows, %i, %c0 : (tensor<12x4xbf16>, tensor<3x4xbf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xbf16>
      %on = stablehlo.add %i, %c3 : tensor<i64>
      stablehlo.return %on, %next : tensor<i64>, tensor<12x4xbf16>
    }
  return %0#1 : tensor<12x4xbf16>
}

// CHECK-LABEL: func.func @multiplied
func.func @multiplied(%rows: tensor<3x4xbf16>) -> tensor<12x12xf32> {
  // CHECK-NOT: xi16
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %c3 = stablehlo.constant dense<3> : tensor<i64>
  %c12 = stablehlo.constant dense<12> : tensor<i64>
  %start = stablehlo.constant dense<-0.0> : tensor<12x4xbf16>
  %0:2 = stablehlo.while(%i = %c0, %all = %start) : tensor<i64>, tensor<12x4xbf16>
    cond {
      %more = stablehlo.compare LT, %i, %c12, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.dynamic_update_slice %all, %rows, %i, %c0 : (tensor<12x4xbf16>, tensor<3x4xbf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xbf16>
      %on = stablehlo.add %i, %c3 : tensor<i64>
      stablehlo.return %on, %next : tensor<i64>, tensor<12x4xbf16>
    }
  %1 = stablehlo.dot_general %0#1, %0#1, contracting_dims = [1] x [1] : (tensor<12x4xbf16>, tensor<12x4xbf16>) -> tensor<12x12xf32>
  return %1 : tensor<12x12xf32>
}

// It would have to be copied before the loop.
// CHECK-LABEL: func.func @given
func.func @given(%rows: tensor<3x4xbf16>, %start: tensor<12x4xbf16>) -> tensor<12x4xf32> {
  // CHECK-NOT: xi16
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %c3 = stablehlo.constant dense<3> : tensor<i64>
  %c12 = stablehlo.constant dense<12> : tensor<i64>
  %0:2 = stablehlo.while(%i = %c0, %all = %start) : tensor<i64>, tensor<12x4xbf16>
    cond {
      %more = stablehlo.compare LT, %i, %c12, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.dynamic_update_slice %all, %rows, %i, %c0 : (tensor<12x4xbf16>, tensor<3x4xbf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xbf16>
      %on = stablehlo.add %i, %c3 : tensor<i64>
      stablehlo.return %on, %next : tensor<i64>, tensor<12x4xbf16>
    }
  %1 = stablehlo.convert %0#1 : (tensor<12x4xbf16>) -> tensor<12x4xf32>
  return %1 : tensor<12x4xf32>
}

// CHECK-LABEL: func.func @half
func.func @half(%rows: tensor<3x4xf16>) -> tensor<12x4xf32> {
  // CHECK-NOT: xi16
  %c0 = stablehlo.constant dense<0> : tensor<i64>
  %c3 = stablehlo.constant dense<3> : tensor<i64>
  %c12 = stablehlo.constant dense<12> : tensor<i64>
  %start = stablehlo.constant dense<-0.0> : tensor<12x4xf16>
  %0:2 = stablehlo.while(%i = %c0, %all = %start) : tensor<i64>, tensor<12x4xf16>
    cond {
      %more = stablehlo.compare LT, %i, %c12, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.dynamic_update_slice %all, %rows, %i, %c0 : (tensor<12x4xf16>, tensor<3x4xf16>, tensor<i64>, tensor<i64>) -> tensor<12x4xf16>
      %on = stablehlo.add %i, %c3 : tensor<i64>
      stablehlo.return %on, %next : tensor<i64>, tensor<12x4xf16>
    }
  %1 = stablehlo.convert %0#1 : (tensor<12x4xf16>) -> tensor<12x4xf32>
  return %1 : tensor<12x4xf32>
}

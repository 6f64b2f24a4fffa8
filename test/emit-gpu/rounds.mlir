// RUN: slimhlo-opt %s --slimhlo-to-kernels --slimhlo-emit-gpu --split-input-file | FileCheck %s

// Nobody knows how often this turns: all its kernels, copies too, take one more pointer, and do nothing where that says 0.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.guarded
// CHECK: gpu.func @{{reduce[^ ]*}}(%{{[^ ]*}}: !llvm.ptr<1> {{.*}}, %{{[^ ]*}}: !llvm.ptr<1> {{.*}}, %[[GUARD:[^ ]*]]: !llvm.ptr<1>
// CHECK: %[[BYTE:.*]] = llvm.load %[[GUARD]] : !llvm.ptr<1> -> i8
// CHECK: %[[GOES_ON:.*]] = arith.cmpi ne, %[[BYTE]],
// CHECK-NEXT: scf.if %[[GOES_ON]] {
func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %r = stablehlo.while(%a = %x) : tensor<1000xf32>
    cond {
      %init = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
      %limit = stablehlo.constant dense<1.0e6> : tensor<f32>
      %p = stablehlo.compare LT, %s, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %b = stablehlo.reverse %a, dims = [0] : tensor<1000xf32>
      %c = stablehlo.add %a, %b : tensor<1000xf32>
      stablehlo.return %c : tensor<1000xf32>
    }
  return %r : tensor<1000xf32>
}

// -----

// One that counts is never asked.

// CHECK-LABEL: func.func @main
// CHECK-NOT: slimhlo.guarded
func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%n = %zero, %a = %x) : tensor<i32>, tensor<1000xf32>
    cond {
      %limit = stablehlo.constant dense<7> : tensor<i32>
      %p = stablehlo.compare LT, %n, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %m = stablehlo.add %n, %one : tensor<i32>
      %b = stablehlo.reverse %a, dims = [0] : tensor<1000xf32>
      %c = stablehlo.add %a, %b : tensor<1000xf32>
      stablehlo.return %m, %c : tensor<i32>, tensor<1000xf32>
    }
  return %r#1 : tensor<1000xf32>
}

// -----

// What a branch does in each round is the host's to say. The loop within it is one that may run ahead.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK-NOT: slimhlo.guarded
// CHECK: stablehlo.if
// CHECK: stablehlo.while
// CHECK-SAME: slimhlo.guarded
func.func @main(%x: tensor<1000xf32>, %which: tensor<i1>) -> tensor<1000xf32> {
  %r = stablehlo.while(%a = %x) : tensor<1000xf32>
    cond {
      %first = stablehlo.slice %a [0:1] : (tensor<1000xf32>) -> tensor<1xf32>
      %s = stablehlo.reshape %first : (tensor<1xf32>) -> tensor<f32>
      %limit = stablehlo.constant dense<1.0e6> : tensor<f32>
      %p = stablehlo.compare LT, %s, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %c = "stablehlo.if"(%which) ({
        %t = stablehlo.while(%b = %a) : tensor<1000xf32>
          cond {
            %first = stablehlo.slice %b [1:2] : (tensor<1000xf32>) -> tensor<1xf32>
            %s = stablehlo.reshape %first : (tensor<1xf32>) -> tensor<f32>
            %limit = stablehlo.constant dense<1.0e3> : tensor<f32>
            %p = stablehlo.compare LT, %s, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %p : tensor<i1>
          } do {
            %d = stablehlo.sine %b : tensor<1000xf32>
            stablehlo.return %d : tensor<1000xf32>
          }
        stablehlo.return %t : tensor<1000xf32>
      }, {
        %d = stablehlo.cosine %a : tensor<1000xf32>
        stablehlo.return %d : tensor<1000xf32>
      }) : (tensor<i1>) -> tensor<1000xf32>
      stablehlo.return %c : tensor<1000xf32>
    }
  return %r : tensor<1000xf32>
}

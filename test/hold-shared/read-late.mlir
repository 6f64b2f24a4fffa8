// RUN: slimhlo-opt %s --slimhlo-hold-shared --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-hold-shared --slimhlo-hold-shared --split-input-file | FileCheck %s

// The first rows of %x are put into it after another update: they are cut out in a branch before that, and the update waits for them.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: sdy.manual_computation{{.*}} (%[[X:[a-z0-9]+]]: tensor<8x3xf32>)
  // CHECK: %[[GOT:[0-9]+]] = "stablehlo.collective_permute"
  // CHECK: %[[PART:[0-9]+]] = "stablehlo.if"
  // CHECK: stablehlo.slice %[[X]] [0:2, 0:3]
  // CHECK: %[[ONE:[0-9]+]] = stablehlo.slice %[[PART]] [0:1, 0:1]
  // CHECK: %[[ZERO:[0-9]+]] = stablehlo.convert
  // CHECK: %[[AT:[0-9]+]] = stablehlo.add %{{[a-z0-9_]+}}, %[[ZERO]]
  // CHECK: %[[NEW:[0-9]+]] = stablehlo.dynamic_update_slice %[[X]], %[[GOT]], %[[AT]]
  // CHECK: %[[TWICE:[0-9]+]] = stablehlo.negate %[[PART]]
  // CHECK: stablehlo.dynamic_update_slice %[[NEW]], %[[TWICE]]
  func.func @main(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %four = stablehlo.constant dense<4> : tensor<i64>
      %row = stablehlo.slice %x [6:8, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %new = stablehlo.dynamic_update_slice %x, %got, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %part = stablehlo.slice %x [0:2, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %twice = stablehlo.negate %part : tensor<2x3xf32>
      %next = stablehlo.dynamic_update_slice %new, %twice, %four, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      sdy.return %next : tensor<8x3xf32>
    } : (tensor<16x3xf32>) -> tensor<16x3xf32>
    return %0 : tensor<16x3xf32>
  }
}

// -----

// An argument that is not given away is copied in any case, and is there for as long as anybody reads it.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK-NOT: stablehlo.if
  // CHECK: return
  func.func @main(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %four = stablehlo.constant dense<4> : tensor<i64>
      %row = stablehlo.slice %x [6:8, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %new = stablehlo.dynamic_update_slice %x, %got, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %part = stablehlo.slice %x [0:2, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %next = stablehlo.dynamic_update_slice %new, %part, %four, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      sdy.return %next : tensor<8x3xf32>
    } : (tensor<16x3xf32>) -> tensor<16x3xf32>
    return %0 : tensor<16x3xf32>
  }
}

// -----

// What is made of the part before the update stays where it is: so does the part, in a branch.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @main
  // CHECK: sdy.manual_computation{{.*}} (%[[X:[a-z0-9]+]]: tensor<8x3xf32>)
  // CHECK: %[[PART:[0-9]+]] = "stablehlo.if"
  // CHECK: stablehlo.slice %[[X]] [0:2, 0:3]
  // CHECK: %[[TWICE:[0-9]+]] = stablehlo.negate %[[PART]]
  // CHECK: %[[NEW:[0-9]+]] = stablehlo.dynamic_update_slice %[[X]]
  // CHECK: stablehlo.dynamic_update_slice %[[NEW]], %[[TWICE]]
  func.func @main(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %four = stablehlo.constant dense<4> : tensor<i64>
      %part = stablehlo.slice %x [0:2, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %twice = stablehlo.negate %part : tensor<2x3xf32>
      %row = stablehlo.slice %x [6:8, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %new = stablehlo.dynamic_update_slice %x, %got, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %next = stablehlo.dynamic_update_slice %new, %twice, %four, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      sdy.return %next : tensor<8x3xf32>
    } : (tensor<16x3xf32>) -> tensor<16x3xf32>
    return %0 : tensor<16x3xf32>
  }
}

// -----

// Numbers that say where the part is go before the update with it, however a block was ordered.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @numbers
  // CHECK: %[[ONE:[0-9]+]] = stablehlo.dynamic_slice %{{.*}} -> tensor<1xi64>
  // CHECK: %[[AT:[0-9]+]] = stablehlo.reshape %[[ONE]]
  // CHECK: %[[PART:[0-9]+]] = "stablehlo.if"
  // CHECK: stablehlo.dynamic_slice %{{[a-z0-9]+}}, %[[AT]]
  // CHECK: %[[NEW:[0-9]+]] = stablehlo.dynamic_update_slice
  // CHECK: stablehlo.dynamic_update_slice %[[NEW]], %[[PART]]
  func.func @numbers(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %four = stablehlo.constant dense<4> : tensor<i64>
      %places = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
      %row = stablehlo.slice %x [6:8, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %new = stablehlo.dynamic_update_slice %x, %got, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %device = stablehlo.partition_id : tensor<ui32>
      %one = stablehlo.dynamic_slice %places, %device, sizes = [1] : (tensor<2xi64>, tensor<ui32>) -> tensor<1xi64>
      %at = stablehlo.reshape %one : (tensor<1xi64>) -> tensor<i64>
      %part = stablehlo.dynamic_slice %x, %at, %zero, sizes = [2, 3] : (tensor<8x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
      %next = stablehlo.dynamic_update_slice %new, %part, %four, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      sdy.return %next : tensor<8x3xf32>
    } : (tensor<16x3xf32>) -> tensor<16x3xf32>
    return %0 : tensor<16x3xf32>
  }
}

// -----

// A number that is read out of the updated array is there only then.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @number_of_updated
  // CHECK-NOT: stablehlo.if
  // CHECK: return
  func.func @number_of_updated(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %four = stablehlo.constant dense<4> : tensor<i64>
      %places = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
      %row = stablehlo.slice %x [6:8, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %new = stablehlo.dynamic_update_slice %x, %got, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %corner = stablehlo.slice %new [0:1, 0:1] : (tensor<8x3xf32>) -> tensor<1x1xf32>
      %scalar = stablehlo.reshape %corner : (tensor<1x1xf32>) -> tensor<f32>
      %at = stablehlo.convert %scalar : (tensor<f32>) -> tensor<i64>
      %part = stablehlo.dynamic_slice %x, %at, %zero, sizes = [2, 3] : (tensor<8x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
      %next = stablehlo.dynamic_update_slice %new, %part, %four, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      sdy.return %next : tensor<8x3xf32>
    } : (tensor<16x3xf32>) -> tensor<16x3xf32>
    return %0 : tensor<16x3xf32>
  }
}

// -----

// Two parts are where one number says, each before an update of its own array: the number is there before both.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @shared_number
  // CHECK: %[[AT:[0-9]+]] = stablehlo.reshape %{{[0-9]+}} : (tensor<1xi64>) -> tensor<i64>
  // CHECK: "stablehlo.if"
  // CHECK: stablehlo.dynamic_slice %{{[a-z0-9]+}}, %[[AT]]
  // CHECK: stablehlo.dynamic_update_slice
  // CHECK: "stablehlo.if"
  // CHECK: stablehlo.dynamic_slice %{{[a-z0-9]+}}, %[[AT]]
  // CHECK: stablehlo.dynamic_update_slice
  func.func @shared_number(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}, %arg1: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 1 : i32}) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xf32>, %y: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %four = stablehlo.constant dense<4> : tensor<i64>
      %places = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
      %row = stablehlo.slice %x [6:8, 0:3] : (tensor<8x3xf32>) -> tensor<2x3xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %new = stablehlo.dynamic_update_slice %x, %got, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %other = stablehlo.dynamic_update_slice %y, %got, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %device = stablehlo.partition_id : tensor<ui32>
      %one = stablehlo.dynamic_slice %places, %device, sizes = [1] : (tensor<2xi64>, tensor<ui32>) -> tensor<1xi64>
      %at = stablehlo.reshape %one : (tensor<1xi64>) -> tensor<i64>
      %part = stablehlo.dynamic_slice %x, %at, %zero, sizes = [2, 3] : (tensor<8x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
      %rows = stablehlo.dynamic_slice %y, %at, %zero, sizes = [2, 3] : (tensor<8x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
      %next = stablehlo.dynamic_update_slice %new, %part, %four, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %then = stablehlo.dynamic_update_slice %other, %rows, %four, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      sdy.return %next, %then : tensor<8x3xf32>, tensor<8x3xf32>
    } : (tensor<16x3xf32>, tensor<16x3xf32>) -> (tensor<16x3xf32>, tensor<16x3xf32>)
    return %0#0, %0#1 : tensor<16x3xf32>, tensor<16x3xf32>
  }
}

// -----

// Bits of complex numbers are not told: of the two parts the other is held, and the number goes before its update.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @other_is_complex
  // CHECK: stablehlo.dynamic_update_slice {{.*}}complex<f32>
  // CHECK: %[[AT:[0-9]+]] = stablehlo.reshape %{{[0-9]+}} : (tensor<1xi64>) -> tensor<i64>
  // CHECK: "stablehlo.if"
  // CHECK: stablehlo.dynamic_slice %{{[a-z0-9]+}}, %[[AT]]
  // CHECK: stablehlo.dynamic_update_slice
  // CHECK-NOT: stablehlo.if
  // CHECK: return
  func.func @other_is_complex(%arg0: tensor<16x3xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}, %arg1: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 1 : i32}) -> (tensor<16x3xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x: tensor<8x3xcomplex<f32>>, %y: tensor<8x3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %four = stablehlo.constant dense<4> : tensor<i64>
      %places = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
      %row = stablehlo.slice %x [6:8, 0:3] : (tensor<8x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
      %new = stablehlo.dynamic_update_slice %x, %got, %zero, %zero : (tensor<8x3xcomplex<f32>>, tensor<2x3xcomplex<f32>>, tensor<i64>, tensor<i64>) -> tensor<8x3xcomplex<f32>>
      %rest = stablehlo.real %got : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
      %other = stablehlo.dynamic_update_slice %y, %rest, %zero, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      %device = stablehlo.partition_id : tensor<ui32>
      %one = stablehlo.dynamic_slice %places, %device, sizes = [1] : (tensor<2xi64>, tensor<ui32>) -> tensor<1xi64>
      %at = stablehlo.reshape %one : (tensor<1xi64>) -> tensor<i64>
      %part = stablehlo.dynamic_slice %x, %at, %zero, sizes = [2, 3] : (tensor<8x3xcomplex<f32>>, tensor<i64>, tensor<i64>) -> tensor<2x3xcomplex<f32>>
      %rows = stablehlo.dynamic_slice %y, %at, %zero, sizes = [2, 3] : (tensor<8x3xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
      %next = stablehlo.dynamic_update_slice %new, %part, %four, %zero : (tensor<8x3xcomplex<f32>>, tensor<2x3xcomplex<f32>>, tensor<i64>, tensor<i64>) -> tensor<8x3xcomplex<f32>>
      %then = stablehlo.dynamic_update_slice %other, %rows, %four, %zero : (tensor<8x3xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
      sdy.return %next, %then : tensor<8x3xcomplex<f32>>, tensor<8x3xf32>
    } : (tensor<16x3xcomplex<f32>>, tensor<16x3xf32>) -> (tensor<16x3xcomplex<f32>>, tensor<16x3xf32>)
    return %0#0, %0#1 : tensor<16x3xcomplex<f32>>, tensor<16x3xf32>
  }
}

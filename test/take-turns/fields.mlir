// RUN: slimhlo-opt %s --slimhlo-take-turns --split-input-file | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-take-turns --slimhlo-take-turns --split-input-file | FileCheck %s

// The second field is cut out to be sent once the first one's row has come.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @two
  // CHECK: stablehlo.slice %[[A:[A-Za-z0-9_]+]] [0:1, 0:8]
  // CHECK: %[[GOT:[A-Za-z0-9_]+]] = "stablehlo.collective_permute"
  // CHECK: stablehlo.concatenate %[[A]], %[[GOT]]
  // CHECK: %[[ONE:[A-Za-z0-9_]+]] = stablehlo.slice %[[GOT]] [0:1, 0:1]
  // CHECK: %[[SCALAR:[A-Za-z0-9_]+]] = stablehlo.reshape %[[ONE]]
  // CHECK: %[[BITS:[A-Za-z0-9_]+]] = stablehlo.bitcast_convert %[[SCALAR]] : (tensor<f32>) -> tensor<i32>
  // CHECK: %[[ZERO:[A-Za-z0-9_]+]] = stablehlo.constant dense<0> : tensor<i32>
  // CHECK: %[[CLAMPED:[A-Za-z0-9_]+]] = stablehlo.clamp %[[ZERO]], %[[BITS]], %[[ZERO]]
  // CHECK: %[[TURN:[A-Za-z0-9_]+]] = stablehlo.convert %[[CLAMPED]] : (tensor<i32>) -> tensor<i64>
  // CHECK: %[[PLACE:[A-Za-z0-9_]+]] = stablehlo.add %{{[A-Za-z0-9_]+}}, %[[TURN]]
  // CHECK: %[[SENT:[A-Za-z0-9_]+]] = stablehlo.dynamic_slice %{{[A-Za-z0-9_]+}}, %[[PLACE]], %{{[A-Za-z0-9_]+}}, sizes = [1, 8]
  // CHECK: "stablehlo.collective_permute"(%[[SENT]])
  func.func @two(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<18x8xf32>, tensor<18x8xf32>) {
    %0:2 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) {
      %row = stablehlo.slice %a [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %other = stablehlo.slice %b [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %next = "stablehlo.collective_permute"(%other) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %first = stablehlo.concatenate %a, %got, dim = 0 : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<9x8xf32>
      %second = stablehlo.concatenate %next, %b, dim = 0 : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<9x8xf32>
      sdy.return %first, %second : tensor<9x8xf32>, tensor<9x8xf32>
    } : (tensor<16x8xf32>, tensor<16x8xf32>) -> (tensor<18x8xf32>, tensor<18x8xf32>)
    return %0#0, %0#1 : tensor<18x8xf32>, tensor<18x8xf32>
  }
}

// -----

// In a loop; the field that is updated in place comes first, though it is the second.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @loop
  // CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %[[A:[A-Za-z0-9_]+]] = %{{.*}}, %[[B:[A-Za-z0-9_]+]] = %{{.*}})
  // CHECK: do {
  // CHECK: stablehlo.slice %[[B]] [0:1, 0:8]
  // CHECK: %[[GOT:[A-Za-z0-9_]+]] = "stablehlo.collective_permute"
  // CHECK: stablehlo.dynamic_update_slice %[[B]], %[[GOT]]
  // CHECK: stablehlo.slice %[[GOT]] [0:1, 0:1]
  // CHECK: %[[PLACE:[A-Za-z0-9_]+]] = stablehlo.add
  // CHECK: %[[SENT:[A-Za-z0-9_]+]] = stablehlo.dynamic_slice %[[A]], %[[PLACE]]
  // CHECK: "stablehlo.collective_permute"(%[[SENT]])
  func.func @loop(%x: tensor<16x8xi16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<16x8xi16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xi16>, tensor<16x8xi16>) {
    %0:2 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<8x8xi16>, %theirs: tensor<8x8xi16>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %end = stablehlo.constant dense<5> : tensor<i32>
      %r:3 = stablehlo.while(%i = %zero, %a = %own, %b = %theirs) : tensor<i32>, tensor<8x8xi16>, tensor<8x8xi16>
      cond {
        %c = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %part = stablehlo.dynamic_slice %a, %zero, %zero, sizes = [1, 8] : (tensor<8x8xi16>, tensor<i32>, tensor<i32>) -> tensor<1x8xi16>
        %came = "stablehlo.collective_permute"(%part) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xi16>) -> tensor<1x8xi16>
        %rest = stablehlo.slice %a [0:7, 0:8] : (tensor<8x8xi16>) -> tensor<7x8xi16>
        %rolled = stablehlo.concatenate %came, %rest, dim = 0 : (tensor<1x8xi16>, tensor<7x8xi16>) -> tensor<8x8xi16>
        %row = stablehlo.slice %b [0:1, 0:8] : (tensor<8x8xi16>) -> tensor<1x8xi16>
        %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<1x8xi16>) -> tensor<1x8xi16>
        %filled = stablehlo.dynamic_update_slice %b, %got, %zero, %zero : (tensor<8x8xi16>, tensor<1x8xi16>, tensor<i32>, tensor<i32>) -> tensor<8x8xi16>
        %n = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %n, %rolled, %filled : tensor<i32>, tensor<8x8xi16>, tensor<8x8xi16>
      }
      sdy.return %r#1, %r#2 : tensor<8x8xi16>, tensor<8x8xi16>
    } : (tensor<16x8xi16>, tensor<16x8xi16>) -> (tensor<16x8xi16>, tensor<16x8xi16>)
    return %0#0, %0#1 : tensor<16x8xi16>, tensor<16x8xi16>
  }
}

// -----

// The larger result comes first; one that is worked on outside comes last, however large it is.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @order
  // CHECK: (%[[SMALL:[a-z0-9]+]]: tensor<4x8xf32>, %[[ON:[a-z0-9]+]]: tensor<8x8xf32>, %[[LARGE:[a-z0-9]+]]: tensor<6x8xf32>)
  // CHECK: stablehlo.slice %[[LARGE]] [0:1, 0:8]
  // CHECK: stablehlo.dynamic_slice %[[SMALL]],
  // CHECK: stablehlo.dynamic_slice %[[ON]],
  func.func @order(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %z: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<10x8xf32>, tensor<18x8xf32>, tensor<13x8xf32>) {
    %0:3 = sdy.manual_computation(%x, %y, %z) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<4x8xf32>, %b: tensor<8x8xf32>, %c: tensor<6x8xf32>) {
      %sa = stablehlo.slice %a [0:1, 0:8] : (tensor<4x8xf32>) -> tensor<1x8xf32>
      %ga = "stablehlo.collective_permute"(%sa) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %ra = stablehlo.concatenate %a, %ga, dim = 0 : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<5x8xf32>
      %sb = stablehlo.slice %b [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %gb = "stablehlo.collective_permute"(%sb) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %rb = stablehlo.concatenate %b, %gb, dim = 0 : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<9x8xf32>
      %sc = stablehlo.slice %c [0:1, 0:8] : (tensor<6x8xf32>) -> tensor<1x8xf32>
      %gc = "stablehlo.collective_permute"(%sc) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %rc = stablehlo.concatenate %c, %gc, dim = 0 : (tensor<6x8xf32>, tensor<1x8xf32>) -> tensor<7x8xf32>
      sdy.return %ra, %rb, %rc : tensor<5x8xf32>, tensor<9x8xf32>, tensor<7x8xf32>
    } : (tensor<8x8xf32>, tensor<16x8xf32>, tensor<12x8xf32>) -> (tensor<10x8xf32>, tensor<18x8xf32>, tensor<14x8xf32>)
    %1 = stablehlo.add %0#1, %0#1 : tensor<18x8xf32>
    %2 = stablehlo.slice %0#2 [0:13, 0:8] : (tensor<14x8xf32>) -> tensor<13x8xf32>
    return %0#0, %1, %2 : tensor<10x8xf32>, tensor<18x8xf32>, tensor<13x8xf32>
  }
}

// -----

// The second field is an argument that is kept: an update of it is of a copy that waits for the first field's row. So does what is
// taken of the third, and what is sent of it, which is cut out of that.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @kept
  // CHECK: sdy.manual_computation{{.*}} (%[[A:[a-z0-9]+]]: tensor<8x8xf32>, %[[B:[a-z0-9]+]]: tensor<8x8xf32>, %[[C:[a-z0-9]+]]: tensor<8x8xf32>
  // CHECK: %[[GOT:[0-9]+]] = "stablehlo.collective_permute"
  // CHECK: stablehlo.dynamic_update_slice %[[A]], %[[GOT]]
  // CHECK: %[[TURN:[0-9]+]] = stablehlo.convert {{.*}} : (tensor<i32>) -> tensor<i64>
  // CHECK: %[[CLAMPED:[0-9]+]] = stablehlo.clamp %{{[a-z0-9_]+}}, %[[TURN]], %{{[a-z0-9_]+}}
  // CHECK: %[[THEN:[0-9]+]] = stablehlo.convert %[[CLAMPED]] : (tensor<i64>) -> tensor<i1>
  // CHECK: %[[COPY:[0-9]+]] = "stablehlo.if"(%[[THEN]])
  // CHECK: stablehlo.optimization_barrier %[[B]]
  // CHECK: stablehlo.dynamic_update_slice %[[COPY]]
  // CHECK: %[[NEXT:[0-9]+]] = stablehlo.convert {{.*}} : (tensor<i32>) -> tensor<i64>
  // CHECK: %[[OWN:[0-9]+]] = stablehlo.add %{{[a-z0-9_]+}}, %[[NEXT]] : tensor<i64>
  // CHECK: stablehlo.dynamic_slice %[[C]], %[[OWN]], %{{[a-z0-9_]+}}, sizes = [6, 8]
  func.func @kept(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}, %y: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %z: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %at: tensor<i64>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<14x8xf32>) {
    %0:3 = sdy.manual_computation(%x, %y, %z, %at) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>, %place: tensor<i64>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %row = stablehlo.slice %a [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %first = stablehlo.dynamic_update_slice %a, %got, %zero, %zero : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
      %other = stablehlo.slice %b [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %next = "stablehlo.collective_permute"(%other) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %second = stablehlo.dynamic_update_slice %b, %next, %zero, %zero : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
      %own = stablehlo.dynamic_slice %c, %place, %zero, sizes = [6, 8] : (tensor<8x8xf32>, tensor<i64>, tensor<i64>) -> tensor<6x8xf32>
      %last = stablehlo.slice %c [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %came = "stablehlo.collective_permute"(%last) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %third = stablehlo.concatenate %came, %own, dim = 0 : (tensor<1x8xf32>, tensor<6x8xf32>) -> tensor<7x8xf32>
      sdy.return %first, %second, %third : tensor<8x8xf32>, tensor<8x8xf32>, tensor<7x8xf32>
    } : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<i64>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<14x8xf32>)
    return %0#0, %0#1, %0#2 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<14x8xf32>
  }
}

// -----

// Two halves of one field that are sent: the second is cut out once the first has come. Two columns of it are not worth that.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @halves
  // CHECK: %[[LEFT:[0-9]+]] = stablehlo.slice %[[X:[a-z0-9]+]] [0:4, 0:8]
  // CHECK: %[[GOT:[0-9]+]] = "stablehlo.collective_permute"(%[[LEFT]])
  // CHECK: stablehlo.slice %[[GOT]] [0:1, 0:1]
  // CHECK: %[[PLACE:[0-9]+]] = stablehlo.add
  // CHECK: %[[RIGHT:[0-9]+]] = stablehlo.dynamic_slice %[[X]], %{{[a-z0-9_]+}}, %[[PLACE]], sizes = [4, 8]
  // CHECK: "stablehlo.collective_permute"(%[[RIGHT]])
  func.func @halves(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x16xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<4x16xf32>) {
      %left = stablehlo.slice %own [0:4, 0:8] : (tensor<4x16xf32>) -> tensor<4x8xf32>
      %right = stablehlo.slice %own [0:4, 8:16] : (tensor<4x16xf32>) -> tensor<4x8xf32>
      %got = "stablehlo.collective_permute"(%left) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %came = "stablehlo.collective_permute"(%right) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %both = stablehlo.concatenate %came, %got, dim = 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
      sdy.return %both : tensor<4x16xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }

  // CHECK-LABEL: func.func @columns
  // CHECK-NOT: stablehlo.clamp
  // CHECK: return
  func.func @columns(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x16xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%own: tensor<4x16xf32>) {
      %left = stablehlo.slice %own [0:4, 0:2] : (tensor<4x16xf32>) -> tensor<4x2xf32>
      %right = stablehlo.slice %own [0:4, 14:16] : (tensor<4x16xf32>) -> tensor<4x2xf32>
      %rest = stablehlo.slice %own [0:4, 2:14] : (tensor<4x16xf32>) -> tensor<4x12xf32>
      %got = "stablehlo.collective_permute"(%left) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>}> : (tensor<4x2xf32>) -> tensor<4x2xf32>
      %came = "stablehlo.collective_permute"(%right) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>}> : (tensor<4x2xf32>) -> tensor<4x2xf32>
      %both = stablehlo.concatenate %came, %rest, %got, dim = 1 : (tensor<4x2xf32>, tensor<4x12xf32>, tensor<4x2xf32>) -> tensor<4x16xf32>
      sdy.return %both : tensor<4x16xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
}

// -----

// What is sent and received of the second field takes more than its result: it comes first, though the first is updated in place, and
// though every second row of it is taken outside, which each device does with its own.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  // CHECK-LABEL: func.func @wide
  // CHECK: (%[[A:[a-z0-9]+]]: tensor<8x8xf32>, %[[B:[a-z0-9]+]]: tensor<8x8xf32>)
  // CHECK: stablehlo.slice %[[B]] [3:8, 0:8]
  // CHECK: stablehlo.dynamic_slice %[[A]],
  func.func @wide(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}, %y: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0:2 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i64>
      %row = stablehlo.slice %a [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
      %got = "stablehlo.collective_permute"(%row) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %first = stablehlo.dynamic_update_slice %a, %got, %zero, %zero : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
      %part = stablehlo.slice %b [3:8, 0:8] : (tensor<8x8xf32>) -> tensor<5x8xf32>
      %came = "stablehlo.collective_permute"(%part) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<5x8xf32>) -> tensor<5x8xf32>
      %rest = stablehlo.slice %b [0:3, 0:8] : (tensor<8x8xf32>) -> tensor<3x8xf32>
      %second = stablehlo.concatenate %came, %rest, dim = 0 : (tensor<5x8xf32>, tensor<3x8xf32>) -> tensor<8x8xf32>
      sdy.return %first, %second : tensor<8x8xf32>, tensor<8x8xf32>
    } : (tensor<16x8xf32>, tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>)
    %1 = stablehlo.slice %0#1 [0:16:2, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<16x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.negate %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x8xf32>
    return %0#0, %2 : tensor<16x8xf32>, tensor<8x8xf32>
  }
}

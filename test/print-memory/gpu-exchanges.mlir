// Gradients of layers, of which devices have a part each: once they add up anything, XLA orders a device's work by time. What
// `test/oracle/referee.py --target h100` says is with each.
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// Gradients come last, since all sums happen at once: 88.00 MiB.
// CHECK: temporaries 92274688{{$}}
module @with attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<65536x128xf32>, %w: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>) {
    %0:4 = sdy.manual_computation(%x, %w) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>, <@mesh, [{}, {}]>, <@mesh, [{}, {}]>, <@mesh, [{}, {}]>] manual_axes={"x"} (%h0: tensor<32768x128xf32>, %w0: tensor<128x128xf32>) {
      %p0 = stablehlo.dot_general %h0, %w0, contracting_dims = [1] x [0] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %h1 = stablehlo.tanh %p0 : tensor<32768x128xf32>
      %p1 = stablehlo.dot_general %h1, %w0, contracting_dims = [1] x [0] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %h2 = stablehlo.tanh %p1 : tensor<32768x128xf32>
      %p2 = stablehlo.dot_general %h2, %w0, contracting_dims = [1] x [0] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %h3 = stablehlo.tanh %p2 : tensor<32768x128xf32>
      %p3 = stablehlo.dot_general %h3, %w0, contracting_dims = [1] x [0] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %h4 = stablehlo.tanh %p3 : tensor<32768x128xf32>
      %d4 = stablehlo.cosine %h4 : tensor<32768x128xf32>
      %g3 = stablehlo.dot_general %h3, %d4, contracting_dims = [0] x [0] : (tensor<32768x128xf32>, tensor<32768x128xf32>) -> tensor<128x128xf32>
      %s3 = "stablehlo.all_reduce"(%g3) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<128x128xf32>) -> tensor<128x128xf32>
      %q3 = stablehlo.dot_general %d4, %w0, contracting_dims = [1] x [1] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %d3 = stablehlo.multiply %q3, %h3 : tensor<32768x128xf32>
      %g2 = stablehlo.dot_general %h2, %d3, contracting_dims = [0] x [0] : (tensor<32768x128xf32>, tensor<32768x128xf32>) -> tensor<128x128xf32>
      %s2 = "stablehlo.all_reduce"(%g2) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<128x128xf32>) -> tensor<128x128xf32>
      %q2 = stablehlo.dot_general %d3, %w0, contracting_dims = [1] x [1] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %d2 = stablehlo.multiply %q2, %h2 : tensor<32768x128xf32>
      %g1 = stablehlo.dot_general %h1, %d2, contracting_dims = [0] x [0] : (tensor<32768x128xf32>, tensor<32768x128xf32>) -> tensor<128x128xf32>
      %s1 = "stablehlo.all_reduce"(%g1) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<128x128xf32>) -> tensor<128x128xf32>
      %q1 = stablehlo.dot_general %d2, %w0, contracting_dims = [1] x [1] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %d1 = stablehlo.multiply %q1, %h1 : tensor<32768x128xf32>
      %g0 = stablehlo.dot_general %h0, %d1, contracting_dims = [0] x [0] : (tensor<32768x128xf32>, tensor<32768x128xf32>) -> tensor<128x128xf32>
      %s0 = "stablehlo.all_reduce"(%g0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<128x128xf32>) -> tensor<128x128xf32>
      sdy.return %s0, %s1, %s2, %s3 : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>
    } : (tensor<65536x128xf32>, tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>)
    return %0#0, %0#1, %0#2, %0#3 : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>
  }
}

// -----

// Gradients come as soon as there is what they are made of: 80.00 MiB.
// CHECK: temporaries 83886080{{$}}
module @without attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<65536x128xf32>, %w: tensor<128x128xf32>) -> (tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>) {
    %0:4 = sdy.manual_computation(%x, %w) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%h0: tensor<32768x128xf32>, %w0: tensor<128x128xf32>) {
      %p0 = stablehlo.dot_general %h0, %w0, contracting_dims = [1] x [0] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %h1 = stablehlo.tanh %p0 : tensor<32768x128xf32>
      %p1 = stablehlo.dot_general %h1, %w0, contracting_dims = [1] x [0] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %h2 = stablehlo.tanh %p1 : tensor<32768x128xf32>
      %p2 = stablehlo.dot_general %h2, %w0, contracting_dims = [1] x [0] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %h3 = stablehlo.tanh %p2 : tensor<32768x128xf32>
      %p3 = stablehlo.dot_general %h3, %w0, contracting_dims = [1] x [0] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %h4 = stablehlo.tanh %p3 : tensor<32768x128xf32>
      %d4 = stablehlo.cosine %h4 : tensor<32768x128xf32>
      %g3 = stablehlo.dot_general %h3, %d4, contracting_dims = [0] x [0] : (tensor<32768x128xf32>, tensor<32768x128xf32>) -> tensor<128x128xf32>
      %q3 = stablehlo.dot_general %d4, %w0, contracting_dims = [1] x [1] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %d3 = stablehlo.multiply %q3, %h3 : tensor<32768x128xf32>
      %g2 = stablehlo.dot_general %h2, %d3, contracting_dims = [0] x [0] : (tensor<32768x128xf32>, tensor<32768x128xf32>) -> tensor<128x128xf32>
      %q2 = stablehlo.dot_general %d3, %w0, contracting_dims = [1] x [1] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %d2 = stablehlo.multiply %q2, %h2 : tensor<32768x128xf32>
      %g1 = stablehlo.dot_general %h1, %d2, contracting_dims = [0] x [0] : (tensor<32768x128xf32>, tensor<32768x128xf32>) -> tensor<128x128xf32>
      %q1 = stablehlo.dot_general %d2, %w0, contracting_dims = [1] x [1] : (tensor<32768x128xf32>, tensor<128x128xf32>) -> tensor<32768x128xf32>
      %d1 = stablehlo.multiply %q1, %h1 : tensor<32768x128xf32>
      %g0 = stablehlo.dot_general %h0, %d1, contracting_dims = [0] x [0] : (tensor<32768x128xf32>, tensor<32768x128xf32>) -> tensor<128x128xf32>
      sdy.return %g0, %g1, %g2, %g3 : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>
    } : (tensor<65536x128xf32>, tensor<128x128xf32>) -> (tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>)
    return %0#0, %0#1, %0#2, %0#3 : tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>
  }
}

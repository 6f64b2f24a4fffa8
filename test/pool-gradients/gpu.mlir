// RUN: slimhlo-opt %s --slimhlo-pool-gradients --slimhlo-print-memory="target=h100 top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// The gradient of max-pooling, compared place by place: a byte for each window, and two kernels, as XLA for an H100 makes them (`referee.py`: 25,690,112
// bytes, 180.0 us).
// CHECK: temporaries 25690112
// CHECK: time 180.2 us, 2 launches
func.func @main(%x: tensor<128x113x113x64xbf16>, %g: tensor<128x56x56x64xbf16>) -> tensor<128x113x113x64xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %stays = stablehlo.compare GE, %a, %b, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    stablehlo.return %stays : tensor<i1>
  }, {
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %sum = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %sum : tensor<bf16>
  }) : (tensor<128x113x113x64xbf16>, tensor<128x56x56x64xbf16>, tensor<bf16>) -> tensor<128x113x113x64xbf16>
  return %r : tensor<128x113x113x64xbf16>
}

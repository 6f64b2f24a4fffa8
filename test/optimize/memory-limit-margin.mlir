// RUN: cat %S/gpu-again.mlir %s | slimhlo-opt - --slimhlo-optimize=memory-limit=40MiB --slimhlo-print-memory="plain=true top=0" -o /dev/null 2>&1 | FileCheck %s
// RUN: cat %S/gpu-again.mlir %s | slimhlo-opt - --slimhlo-optimize=memory-limit=38MiB --slimhlo-print-memory="plain=true top=0" -o /dev/null 2>&1 | FileCheck %s --check-prefix=DEAR

// Models err: of 39 MiB that the limit leaves for temporaries an eighth is kept back, for 1.07 of the time that 36.0 MiB take. What a function that is called is
// given, 381 MiB here, is no part of what can't be helped.
// CHECK: temporaries 35651584
// What leaves an eighth of 37 MiB would take more than a quarter longer.
// DEAR: temporaries 37748736
func.func private @called(%x: tensor<100000000xf32>) -> tensor<100000000xf32> {
  return %x : tensor<100000000xf32>
}

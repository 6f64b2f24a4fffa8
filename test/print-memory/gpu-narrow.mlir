// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-gpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s --check-prefix=CPU

// GPUs multiply 16-bit floats as they are: of two products the first is stored in 2 MiB. XLA for CPU widens.
// CHECK: temporaries 2097152{{$}}
// CPU-NOT: temporaries 2097152{{$}}
func.func @main(%x: tensor<1024x1024xbf16>, %y: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  return %1 : tensor<1024x1024xbf16>
}

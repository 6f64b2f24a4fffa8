// RUN: slimhlo-opt %s --slimhlo-in-turn=target=xla-cpu | FileCheck %s

// Floats of four bits have no zeros that could be written down for another choice: they are read as they are.
// CHECK-LABEL: func.func @narrow(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf4E2M1FN>, %arg2: tensor<64x64xf32>)
// CHECK: stablehlo.clamp
// CHECK-NOT: stablehlo.select %{{.*}}, %arg1
// CHECK-DAG: stablehlo.select %{{.*}}, %arg0
// CHECK-DAG: stablehlo.select %{{.*}}, %arg2
// CHECK: return
func.func @narrow(%u: tensor<64x64xf32>, %vv: tensor<64x64xf4E2M1FN>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %v = stablehlo.convert %vv : (tensor<64x64xf4E2M1FN>) -> tensor<64x64xf32>
  %face = stablehlo.multiply %u, %w : tensor<64x64xf32>
  %a0 = stablehlo.divide %u, %face : tensor<64x64xf32>
  %ar0 = stablehlo.reverse %a0, dims = [0] : tensor<64x64xf32>
  %as0 = stablehlo.subtract %a0, %ar0 : tensor<64x64xf32>
  %a1 = stablehlo.divide %as0, %face : tensor<64x64xf32>
  %ar1 = stablehlo.reverse %a1, dims = [0] : tensor<64x64xf32>
  %as1 = stablehlo.subtract %a1, %ar1 : tensor<64x64xf32>
  %a2 = stablehlo.divide %as1, %face : tensor<64x64xf32>
  %ar2 = stablehlo.reverse %a2, dims = [0] : tensor<64x64xf32>
  %as2 = stablehlo.subtract %a2, %ar2 : tensor<64x64xf32>
  %a3 = stablehlo.divide %as2, %face : tensor<64x64xf32>
  %ar3 = stablehlo.reverse %a3, dims = [0] : tensor<64x64xf32>
  %as3 = stablehlo.subtract %a3, %ar3 : tensor<64x64xf32>
  %a4 = stablehlo.divide %as3, %face : tensor<64x64xf32>
  %ar4 = stablehlo.reverse %a4, dims = [0] : tensor<64x64xf32>
  %as4 = stablehlo.subtract %a4, %ar4 : tensor<64x64xf32>
  %a5 = stablehlo.divide %as4, %face : tensor<64x64xf32>
  %ar5 = stablehlo.reverse %a5, dims = [0] : tensor<64x64xf32>
  %as5 = stablehlo.subtract %a5, %ar5 : tensor<64x64xf32>
  %a6 = stablehlo.divide %as5, %face : tensor<64x64xf32>
  %ar6 = stablehlo.reverse %a6, dims = [0] : tensor<64x64xf32>
  %as6 = stablehlo.subtract %a6, %ar6 : tensor<64x64xf32>
  %a7 = stablehlo.divide %as6, %face : tensor<64x64xf32>
  %ar7 = stablehlo.reverse %a7, dims = [0] : tensor<64x64xf32>
  %as7 = stablehlo.subtract %a7, %ar7 : tensor<64x64xf32>
  %a8 = stablehlo.divide %as7, %face : tensor<64x64xf32>
  %ar8 = stablehlo.reverse %a8, dims = [0] : tensor<64x64xf32>
  %as8 = stablehlo.subtract %a8, %ar8 : tensor<64x64xf32>
  %a9 = stablehlo.divide %as8, %face : tensor<64x64xf32>
  %ar9 = stablehlo.reverse %a9, dims = [0] : tensor<64x64xf32>
  %as9 = stablehlo.subtract %a9, %ar9 : tensor<64x64xf32>
  %a10 = stablehlo.divide %as9, %face : tensor<64x64xf32>
  %ar10 = stablehlo.reverse %a10, dims = [0] : tensor<64x64xf32>
  %as10 = stablehlo.subtract %a10, %ar10 : tensor<64x64xf32>
  %a11 = stablehlo.divide %as10, %face : tensor<64x64xf32>
  %ar11 = stablehlo.reverse %a11, dims = [0] : tensor<64x64xf32>
  %as11 = stablehlo.subtract %a11, %ar11 : tensor<64x64xf32>
  %a12 = stablehlo.divide %as11, %face : tensor<64x64xf32>
  %ar12 = stablehlo.reverse %a12, dims = [0] : tensor<64x64xf32>
  %as12 = stablehlo.subtract %a12, %ar12 : tensor<64x64xf32>
  %a13 = stablehlo.divide %as12, %face : tensor<64x64xf32>
  %ar13 = stablehlo.reverse %a13, dims = [0] : tensor<64x64xf32>
  %as13 = stablehlo.subtract %a13, %ar13 : tensor<64x64xf32>
  %da = stablehlo.add %as13, %u : tensor<64x64xf32>
  %b0 = stablehlo.divide %v, %face : tensor<64x64xf32>
  %br0 = stablehlo.reverse %b0, dims = [0] : tensor<64x64xf32>
  %bs0 = stablehlo.subtract %b0, %br0 : tensor<64x64xf32>
  %b1 = stablehlo.divide %bs0, %face : tensor<64x64xf32>
  %br1 = stablehlo.reverse %b1, dims = [0] : tensor<64x64xf32>
  %bs1 = stablehlo.subtract %b1, %br1 : tensor<64x64xf32>
  %b2 = stablehlo.divide %bs1, %face : tensor<64x64xf32>
  %br2 = stablehlo.reverse %b2, dims = [0] : tensor<64x64xf32>
  %bs2 = stablehlo.subtract %b2, %br2 : tensor<64x64xf32>
  %b3 = stablehlo.divide %bs2, %face : tensor<64x64xf32>
  %br3 = stablehlo.reverse %b3, dims = [0] : tensor<64x64xf32>
  %bs3 = stablehlo.subtract %b3, %br3 : tensor<64x64xf32>
  %b4 = stablehlo.divide %bs3, %face : tensor<64x64xf32>
  %br4 = stablehlo.reverse %b4, dims = [0] : tensor<64x64xf32>
  %bs4 = stablehlo.subtract %b4, %br4 : tensor<64x64xf32>
  %b5 = stablehlo.divide %bs4, %face : tensor<64x64xf32>
  %br5 = stablehlo.reverse %b5, dims = [0] : tensor<64x64xf32>
  %bs5 = stablehlo.subtract %b5, %br5 : tensor<64x64xf32>
  %b6 = stablehlo.divide %bs5, %face : tensor<64x64xf32>
  %br6 = stablehlo.reverse %b6, dims = [0] : tensor<64x64xf32>
  %bs6 = stablehlo.subtract %b6, %br6 : tensor<64x64xf32>
  %b7 = stablehlo.divide %bs6, %face : tensor<64x64xf32>
  %br7 = stablehlo.reverse %b7, dims = [0] : tensor<64x64xf32>
  %bs7 = stablehlo.subtract %b7, %br7 : tensor<64x64xf32>
  %b8 = stablehlo.divide %bs7, %face : tensor<64x64xf32>
  %br8 = stablehlo.reverse %b8, dims = [0] : tensor<64x64xf32>
  %bs8 = stablehlo.subtract %b8, %br8 : tensor<64x64xf32>
  %b9 = stablehlo.divide %bs8, %face : tensor<64x64xf32>
  %br9 = stablehlo.reverse %b9, dims = [0] : tensor<64x64xf32>
  %bs9 = stablehlo.subtract %b9, %br9 : tensor<64x64xf32>
  %b10 = stablehlo.divide %bs9, %face : tensor<64x64xf32>
  %br10 = stablehlo.reverse %b10, dims = [0] : tensor<64x64xf32>
  %bs10 = stablehlo.subtract %b10, %br10 : tensor<64x64xf32>
  %b11 = stablehlo.divide %bs10, %face : tensor<64x64xf32>
  %br11 = stablehlo.reverse %b11, dims = [0] : tensor<64x64xf32>
  %bs11 = stablehlo.subtract %b11, %br11 : tensor<64x64xf32>
  %b12 = stablehlo.divide %bs11, %face : tensor<64x64xf32>
  %br12 = stablehlo.reverse %b12, dims = [0] : tensor<64x64xf32>
  %bs12 = stablehlo.subtract %b12, %br12 : tensor<64x64xf32>
  %b13 = stablehlo.divide %bs12, %face : tensor<64x64xf32>
  %br13 = stablehlo.reverse %b13, dims = [0] : tensor<64x64xf32>
  %bs13 = stablehlo.subtract %b13, %br13 : tensor<64x64xf32>
  %db = stablehlo.add %bs13, %v : tensor<64x64xf32>
  return %da, %db : tensor<64x64xf32>, tensor<64x64xf32>
}

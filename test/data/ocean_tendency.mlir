module @jit_tendency attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["rows"=2, "columns"=2]> {stablehlo.mesh = {axes = [{name = "rows", size = 2 : i64}, {name = "columns", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<40x768x1280xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"rows"}, {"columns"}]>}, %arg1: tensor<40x768x1280xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"rows"}, {"columns"}]>}, %arg2: tensor<40x768x1280xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"rows"}, {"columns"}]>}, %arg3: tensor<40x768x1280xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"rows"}, {"columns"}]>}, %arg4: tensor<768xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"rows"}]>}) -> (tensor<40x768x1280xf64> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {"rows"}, {"columns"}]>}) {
    %0 = stablehlo.slice %arg0 [1:39, 1:767, 2:1280] : (tensor<40x768x1280xf64>) -> tensor<38x766x1278xf64>
    %1 = stablehlo.slice %arg0 [1:39, 1:767, 0:1278] : (tensor<40x768x1280xf64>) -> tensor<38x766x1278xf64>
    %2 = stablehlo.subtract %0, %1 : tensor<38x766x1278xf64>
    %cst = stablehlo.constant dense<1.000000e+04> : tensor<f64>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<38x766x1278xf64>
    %4 = stablehlo.divide %2, %3 : tensor<38x766x1278xf64>
    %5 = stablehlo.slice %arg0 [1:39, 2:768, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<38x766x1278xf64>
    %6 = stablehlo.slice %arg0 [1:39, 0:766, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<38x766x1278xf64>
    %7 = stablehlo.subtract %5, %6 : tensor<38x766x1278xf64>
    %cst_0 = stablehlo.constant dense<1.000000e+04> : tensor<f64>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<38x766x1278xf64>
    %9 = stablehlo.divide %7, %8 : tensor<38x766x1278xf64>
    %10 = stablehlo.slice %arg0 [2:40, 1:767, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<38x766x1278xf64>
    %11 = stablehlo.slice %arg0 [0:38, 1:767, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<38x766x1278xf64>
    %12 = stablehlo.subtract %10, %11 : tensor<38x766x1278xf64>
    %cst_1 = stablehlo.constant dense<5.000000e+01> : tensor<f64>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<38x766x1278xf64>
    %14 = stablehlo.divide %12, %13 : tensor<38x766x1278xf64>
    %15 = stablehlo.slice %arg0 [1:39, 1:767, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<38x766x1278xf64>
    %16 = stablehlo.multiply %15, %4 : tensor<38x766x1278xf64>
    %17 = stablehlo.slice %arg1 [1:39, 1:767, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<38x766x1278xf64>
    %18 = stablehlo.multiply %17, %9 : tensor<38x766x1278xf64>
    %19 = stablehlo.add %16, %18 : tensor<38x766x1278xf64>
    %20 = stablehlo.slice %arg2 [1:39, 1:767, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<38x766x1278xf64>
    %21 = stablehlo.multiply %20, %14 : tensor<38x766x1278xf64>
    %22 = stablehlo.add %19, %21 : tensor<38x766x1278xf64>
    %23 = stablehlo.negate %22 : tensor<38x766x1278xf64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %24 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<40x768x1280xf64>
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_3 = stablehlo.constant dense<1> : tensor<i64>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %25 = stablehlo.dynamic_update_slice %24, %23, %c, %c_3, %c_4 : (tensor<40x768x1280xf64>, tensor<38x766x1278xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<40x768x1280xf64>
    %26 = stablehlo.slice %arg1 [0:40, 1:767, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %27 = stablehlo.slice %arg1 [0:40, 2:768, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %28 = stablehlo.add %26, %27 : tensor<40x766x1278xf64>
    %29 = stablehlo.slice %arg1 [0:40, 1:767, 0:1278] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %30 = stablehlo.add %28, %29 : tensor<40x766x1278xf64>
    %31 = stablehlo.slice %arg1 [0:40, 2:768, 0:1278] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %32 = stablehlo.add %30, %31 : tensor<40x766x1278xf64>
    %33 = stablehlo.slice %arg4 [1:767] : (tensor<768xf64>) -> tensor<766xf64>
    %34 = stablehlo.broadcast_in_dim %33, dims = [1] : (tensor<766xf64>) -> tensor<1x766x1xf64>
    %cst_5 = stablehlo.constant dense<2.500000e-01> : tensor<f64>
    %35 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<1x766x1xf64>
    %36 = stablehlo.multiply %35, %34 : tensor<1x766x1xf64>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] : (tensor<1x766x1xf64>) -> tensor<40x766x1278xf64>
    %38 = stablehlo.multiply %37, %32 : tensor<40x766x1278xf64>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %39 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<40x768x1280xf64>
    %c_7 = stablehlo.constant dense<0> : tensor<i64>
    %c_8 = stablehlo.constant dense<1> : tensor<i64>
    %c_9 = stablehlo.constant dense<1> : tensor<i64>
    %40 = stablehlo.dynamic_update_slice %39, %38, %c_7, %c_8, %c_9 : (tensor<40x768x1280xf64>, tensor<40x766x1278xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<40x768x1280xf64>
    %41 = stablehlo.add %25, %40 : tensor<40x768x1280xf64>
    %42 = stablehlo.slice %arg3 [0:40, 0:768, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<40x768x1278xf64>
    %43 = stablehlo.slice %arg3 [0:40, 0:768, 0:1278] : (tensor<40x768x1280xf64>) -> tensor<40x768x1278xf64>
    %44 = stablehlo.subtract %42, %43 : tensor<40x768x1278xf64>
    %45 = stablehlo.negate %44 : tensor<40x768x1278xf64>
    %cst_10 = stablehlo.constant dense<5.130000e+06> : tensor<f64>
    %46 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<40x768x1278xf64>
    %47 = stablehlo.divide %45, %46 : tensor<40x768x1278xf64>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %48 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<40x768x1280xf64>
    %c_12 = stablehlo.constant dense<0> : tensor<i64>
    %c_13 = stablehlo.constant dense<0> : tensor<i64>
    %c_14 = stablehlo.constant dense<1> : tensor<i64>
    %49 = stablehlo.dynamic_update_slice %48, %47, %c_12, %c_13, %c_14 : (tensor<40x768x1280xf64>, tensor<40x768x1278xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<40x768x1280xf64>
    %50 = stablehlo.add %41, %49 : tensor<40x768x1280xf64>
    %51 = stablehlo.slice %arg0 [0:40, 1:767, 2:1280] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %52 = stablehlo.slice %arg0 [0:40, 1:767, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %cst_15 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %53 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f64>) -> tensor<40x766x1278xf64>
    %54 = stablehlo.multiply %53, %52 : tensor<40x766x1278xf64>
    %55 = stablehlo.subtract %51, %54 : tensor<40x766x1278xf64>
    %56 = stablehlo.slice %arg0 [0:40, 1:767, 0:1278] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %57 = stablehlo.add %55, %56 : tensor<40x766x1278xf64>
    %58 = stablehlo.slice %arg0 [0:40, 2:768, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %59 = stablehlo.slice %arg0 [0:40, 1:767, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %cst_16 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %60 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f64>) -> tensor<40x766x1278xf64>
    %61 = stablehlo.multiply %60, %59 : tensor<40x766x1278xf64>
    %62 = stablehlo.subtract %58, %61 : tensor<40x766x1278xf64>
    %63 = stablehlo.slice %arg0 [0:40, 0:766, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %64 = stablehlo.add %62, %63 : tensor<40x766x1278xf64>
    %cst_17 = stablehlo.constant dense<2.500000e+07> : tensor<f64>
    %65 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f64>) -> tensor<40x766x1278xf64>
    %66 = stablehlo.divide %57, %65 : tensor<40x766x1278xf64>
    %cst_18 = stablehlo.constant dense<2.500000e+07> : tensor<f64>
    %67 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f64>) -> tensor<40x766x1278xf64>
    %68 = stablehlo.divide %64, %67 : tensor<40x766x1278xf64>
    %69 = stablehlo.add %66, %68 : tensor<40x766x1278xf64>
    %cst_19 = stablehlo.constant dense<5.000000e+01> : tensor<f64>
    %70 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f64>) -> tensor<40x766x1278xf64>
    %71 = stablehlo.multiply %70, %69 : tensor<40x766x1278xf64>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %72 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f64>) -> tensor<40x768x1280xf64>
    %c_21 = stablehlo.constant dense<0> : tensor<i64>
    %c_22 = stablehlo.constant dense<1> : tensor<i64>
    %c_23 = stablehlo.constant dense<1> : tensor<i64>
    %73 = stablehlo.dynamic_update_slice %72, %71, %c_21, %c_22, %c_23 : (tensor<40x768x1280xf64>, tensor<40x766x1278xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<40x768x1280xf64>
    %74 = stablehlo.add %50, %73 : tensor<40x768x1280xf64>
    %75 = stablehlo.slice %arg0 [0:40, 1:767, 2:1280] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %76 = stablehlo.slice %arg0 [0:40, 1:767, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %cst_24 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %77 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f64>) -> tensor<40x766x1278xf64>
    %78 = stablehlo.multiply %77, %76 : tensor<40x766x1278xf64>
    %79 = stablehlo.subtract %75, %78 : tensor<40x766x1278xf64>
    %80 = stablehlo.slice %arg0 [0:40, 1:767, 0:1278] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %81 = stablehlo.add %79, %80 : tensor<40x766x1278xf64>
    %82 = stablehlo.slice %arg0 [0:40, 2:768, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %83 = stablehlo.slice %arg0 [0:40, 1:767, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %cst_25 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %84 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f64>) -> tensor<40x766x1278xf64>
    %85 = stablehlo.multiply %84, %83 : tensor<40x766x1278xf64>
    %86 = stablehlo.subtract %82, %85 : tensor<40x766x1278xf64>
    %87 = stablehlo.slice %arg0 [0:40, 0:766, 1:1279] : (tensor<40x768x1280xf64>) -> tensor<40x766x1278xf64>
    %88 = stablehlo.add %86, %87 : tensor<40x766x1278xf64>
    %cst_26 = stablehlo.constant dense<2.500000e+07> : tensor<f64>
    %89 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f64>) -> tensor<40x766x1278xf64>
    %90 = stablehlo.divide %81, %89 : tensor<40x766x1278xf64>
    %cst_27 = stablehlo.constant dense<2.500000e+07> : tensor<f64>
    %91 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f64>) -> tensor<40x766x1278xf64>
    %92 = stablehlo.divide %88, %91 : tensor<40x766x1278xf64>
    %93 = stablehlo.add %90, %92 : tensor<40x766x1278xf64>
    %94 = stablehlo.slice %93 [0:40, 1:765, 2:1278] : (tensor<40x766x1278xf64>) -> tensor<40x764x1276xf64>
    %95 = stablehlo.slice %93 [0:40, 1:765, 1:1277] : (tensor<40x766x1278xf64>) -> tensor<40x764x1276xf64>
    %cst_28 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %96 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f64>) -> tensor<40x764x1276xf64>
    %97 = stablehlo.multiply %96, %95 : tensor<40x764x1276xf64>
    %98 = stablehlo.subtract %94, %97 : tensor<40x764x1276xf64>
    %99 = stablehlo.slice %93 [0:40, 1:765, 0:1276] : (tensor<40x766x1278xf64>) -> tensor<40x764x1276xf64>
    %100 = stablehlo.add %98, %99 : tensor<40x764x1276xf64>
    %101 = stablehlo.slice %93 [0:40, 2:766, 1:1277] : (tensor<40x766x1278xf64>) -> tensor<40x764x1276xf64>
    %102 = stablehlo.slice %93 [0:40, 1:765, 1:1277] : (tensor<40x766x1278xf64>) -> tensor<40x764x1276xf64>
    %cst_29 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %103 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f64>) -> tensor<40x764x1276xf64>
    %104 = stablehlo.multiply %103, %102 : tensor<40x764x1276xf64>
    %105 = stablehlo.subtract %101, %104 : tensor<40x764x1276xf64>
    %106 = stablehlo.slice %93 [0:40, 0:764, 1:1277] : (tensor<40x766x1278xf64>) -> tensor<40x764x1276xf64>
    %107 = stablehlo.add %105, %106 : tensor<40x764x1276xf64>
    %cst_30 = stablehlo.constant dense<2.500000e+07> : tensor<f64>
    %108 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f64>) -> tensor<40x764x1276xf64>
    %109 = stablehlo.divide %100, %108 : tensor<40x764x1276xf64>
    %cst_31 = stablehlo.constant dense<2.500000e+07> : tensor<f64>
    %110 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f64>) -> tensor<40x764x1276xf64>
    %111 = stablehlo.divide %107, %110 : tensor<40x764x1276xf64>
    %112 = stablehlo.add %109, %111 : tensor<40x764x1276xf64>
    %cst_32 = stablehlo.constant dense<-1.000000e+09> : tensor<f64>
    %113 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f64>) -> tensor<40x764x1276xf64>
    %114 = stablehlo.multiply %113, %112 : tensor<40x764x1276xf64>
    %cst_33 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %115 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f64>) -> tensor<40x768x1280xf64>
    %c_34 = stablehlo.constant dense<0> : tensor<i64>
    %c_35 = stablehlo.constant dense<2> : tensor<i64>
    %c_36 = stablehlo.constant dense<2> : tensor<i64>
    %116 = stablehlo.dynamic_update_slice %115, %114, %c_34, %c_35, %c_36 : (tensor<40x768x1280xf64>, tensor<40x764x1276xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<40x768x1280xf64>
    %117 = stablehlo.add %74, %116 : tensor<40x768x1280xf64>
    %118 = stablehlo.slice %arg0 [2:40, 0:768, 0:1280] : (tensor<40x768x1280xf64>) -> tensor<38x768x1280xf64>
    %119 = stablehlo.slice %arg0 [1:39, 0:768, 0:1280] : (tensor<40x768x1280xf64>) -> tensor<38x768x1280xf64>
    %cst_37 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %120 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f64>) -> tensor<38x768x1280xf64>
    %121 = stablehlo.multiply %120, %119 : tensor<38x768x1280xf64>
    %122 = stablehlo.subtract %118, %121 : tensor<38x768x1280xf64>
    %123 = stablehlo.slice %arg0 [0:38, 0:768, 0:1280] : (tensor<40x768x1280xf64>) -> tensor<38x768x1280xf64>
    %124 = stablehlo.add %122, %123 : tensor<38x768x1280xf64>
    %cst_38 = stablehlo.constant dense<1.000000e-04> : tensor<f64>
    %125 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f64>) -> tensor<38x768x1280xf64>
    %126 = stablehlo.multiply %125, %124 : tensor<38x768x1280xf64>
    %cst_39 = stablehlo.constant dense<6.250000e+02> : tensor<f64>
    %127 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f64>) -> tensor<38x768x1280xf64>
    %128 = stablehlo.divide %126, %127 : tensor<38x768x1280xf64>
    %cst_40 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %129 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f64>) -> tensor<40x768x1280xf64>
    %c_41 = stablehlo.constant dense<1> : tensor<i64>
    %c_42 = stablehlo.constant dense<0> : tensor<i64>
    %c_43 = stablehlo.constant dense<0> : tensor<i64>
    %130 = stablehlo.dynamic_update_slice %129, %128, %c_41, %c_42, %c_43 : (tensor<40x768x1280xf64>, tensor<38x768x1280xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<40x768x1280xf64>
    %131 = stablehlo.add %117, %130 : tensor<40x768x1280xf64>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %132 = stablehlo.broadcast_in_dim %cst_44, dims = [] : (tensor<f64>) -> tensor<40x768x1280xf64>
    %133 = stablehlo.slice %arg0 [0:2, 0:768, 0:1280] : (tensor<40x768x1280xf64>) -> tensor<2x768x1280xf64>
    %cst_45 = stablehlo.constant dense<-2.500000e-03> : tensor<f64>
    %134 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f64>) -> tensor<2x768x1280xf64>
    %135 = stablehlo.multiply %134, %133 : tensor<2x768x1280xf64>
    %136 = stablehlo.slice %arg0 [0:2, 0:768, 0:1280] : (tensor<40x768x1280xf64>) -> tensor<2x768x1280xf64>
    %137 = stablehlo.multiply %136, %136 : tensor<2x768x1280xf64>
    %138 = stablehlo.slice %arg1 [0:2, 0:768, 0:1280] : (tensor<40x768x1280xf64>) -> tensor<2x768x1280xf64>
    %139 = stablehlo.multiply %138, %138 : tensor<2x768x1280xf64>
    %140 = stablehlo.add %137, %139 : tensor<2x768x1280xf64>
    %141 = stablehlo.sqrt %140 : tensor<2x768x1280xf64>
    %142 = stablehlo.multiply %135, %141 : tensor<2x768x1280xf64>
    %cst_46 = stablehlo.constant dense<2.500000e+01> : tensor<f64>
    %143 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f64>) -> tensor<2x768x1280xf64>
    %144 = stablehlo.divide %142, %143 : tensor<2x768x1280xf64>
    %c_47 = stablehlo.constant dense<0> : tensor<i64>
    %c_48 = stablehlo.constant dense<0> : tensor<i64>
    %c_49 = stablehlo.constant dense<0> : tensor<i64>
    %145 = stablehlo.dynamic_update_slice %132, %144, %c_47, %c_48, %c_49 : (tensor<40x768x1280xf64>, tensor<2x768x1280xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<40x768x1280xf64>
    %146 = stablehlo.add %131, %145 : tensor<40x768x1280xf64>
    return %146 : tensor<40x768x1280xf64>
  }
}

// RUN: slimhlo-opt %s --slimhlo-segment-loops --split-input-file > %t
// RUN: slimhlo-opt %s --split-input-file | diff - %t

// Slots are read in the order in which they were written: the first is read when the last one is still to come.
func.func @forwards(%x0: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<5> : tensor<i32>
  %turns = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %0:3 = stablehlo.while(%i = %c0, %x = %x0, %xs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.sine %x : tensor<4xf32>
    %x1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %xs1 = stablehlo.dynamic_update_slice %xs, %x1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %xs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  %1:3 = stablehlo.while(%j = %c0, %y = %y0, %xs = %0#2) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %j, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %from = stablehlo.subtract %last, %j : tensor<i32>
    %x1 = stablehlo.dynamic_slice %xs, %j, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %x2 = stablehlo.reshape %x1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %next = stablehlo.multiply %y, %x2 : tensor<4xf32>
    %j1 = stablehlo.add %j, %c1 : tensor<i32>
    stablehlo.return %j1, %next, %xs : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// Somebody else has the stack, too.
func.func @read_elsewhere(%x0: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<6x4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<5> : tensor<i32>
  %turns = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %0:3 = stablehlo.while(%i = %c0, %x = %x0, %xs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.sine %x : tensor<4xf32>
    %x1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %xs1 = stablehlo.dynamic_update_slice %xs, %x1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %xs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  %1:3 = stablehlo.while(%j = %c0, %y = %y0, %xs = %0#2) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %j, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %from = stablehlo.subtract %last, %j : tensor<i32>
    %x1 = stablehlo.dynamic_slice %xs, %from, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %x2 = stablehlo.reshape %x1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %next = stablehlo.multiply %y, %x2 : tensor<4xf32>
    %j1 = stablehlo.add %j, %c1 : tensor<i32>
    stablehlo.return %j1, %next, %xs : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  return %0#2 : tensor<6x4xf32>
}

// -----

// Every second slot is written.
func.func @every_second(%x0: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<5> : tensor<i32>
  %turns = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %c2 = stablehlo.constant dense<2> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c0, %x = %x0, %xs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.sine %x : tensor<4xf32>
    %x1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %xs1 = stablehlo.dynamic_update_slice %xs, %x1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %i1 = stablehlo.add %i, %c2 : tensor<i32>
    stablehlo.return %i1, %next, %xs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  %1:3 = stablehlo.while(%j = %c0, %y = %y0, %xs = %0#2) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %j, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %from = stablehlo.subtract %last, %j : tensor<i32>
    %x1 = stablehlo.dynamic_slice %xs, %from, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %x2 = stablehlo.reshape %x1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %next = stablehlo.multiply %y, %x2 : tensor<4xf32>
    %j1 = stablehlo.add %j, %c2 : tensor<i32>
    stablehlo.return %j1, %next, %xs : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// Whoever is told of turns would be told twice.
func.func @told(%x0: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<5> : tensor<i32>
  %turns = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %0:3 = stablehlo.while(%i = %c0, %x = %x0, %xs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.custom_call @tell(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    %x1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %xs1 = stablehlo.dynamic_update_slice %xs, %x1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %xs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  %1:3 = stablehlo.while(%j = %c0, %y = %y0, %xs = %0#2) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %j, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %from = stablehlo.subtract %last, %j : tensor<i32>
    %x1 = stablehlo.dynamic_slice %xs, %from, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %x2 = stablehlo.reshape %x1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %next = stablehlo.multiply %y, %x2 : tensor<4xf32>
    %j1 = stablehlo.add %j, %c1 : tensor<i32>
    stablehlo.return %j1, %next, %xs : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// Nobody can draw these numbers again.
func.func @lots(%x0: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<5> : tensor<i32>
  %turns = stablehlo.constant dense<6> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %shape = stablehlo.constant dense<4> : tensor<1xi64>
  %0:3 = stablehlo.while(%i = %c0, %x = %x0, %xs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.rng %zero, %one, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
    %x1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %xs1 = stablehlo.dynamic_update_slice %xs, %x1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %xs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  %1:3 = stablehlo.while(%j = %c0, %y = %y0, %xs = %0#2) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  cond {
    %more = stablehlo.compare LT, %j, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %from = stablehlo.subtract %last, %j : tensor<i32>
    %x1 = stablehlo.dynamic_slice %xs, %from, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %x2 = stablehlo.reshape %x1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %next = stablehlo.multiply %y, %x2 : tensor<4xf32>
    %j1 = stablehlo.add %j, %c1 : tensor<i32>
    stablehlo.return %j1, %next, %xs : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// Of two turns nothing is to be saved.
func.func @two(%x0: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<1> : tensor<i32>
  %turns = stablehlo.constant dense<2> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<2x4xf32>
  %0:3 = stablehlo.while(%i = %c0, %x = %x0, %xs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<2x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.sine %x : tensor<4xf32>
    %x1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %xs1 = stablehlo.dynamic_update_slice %xs, %x1, %i, %c0 : (tensor<2x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
    %i1 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %i1, %next, %xs1 : tensor<i32>, tensor<4xf32>, tensor<2x4xf32>
  }
  %1:3 = stablehlo.while(%j = %c0, %y = %y0, %xs = %0#2) : tensor<i32>, tensor<4xf32>, tensor<2x4xf32>
  cond {
    %more = stablehlo.compare LT, %j, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %from = stablehlo.subtract %last, %j : tensor<i32>
    %x1 = stablehlo.dynamic_slice %xs, %from, %c0, sizes = [1, 4] : (tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %x2 = stablehlo.reshape %x1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %next = stablehlo.multiply %y, %x2 : tensor<4xf32>
    %j1 = stablehlo.add %j, %c1 : tensor<i32>
    stablehlo.return %j1, %next, %xs : tensor<i32>, tensor<4xf32>, tensor<2x4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// What is done twice would have to be sharded the same way both times.
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @partitions(%x0: tensor<4xf32>, %y0: tensor<4xf32>) -> tensor<4xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %last = stablehlo.constant dense<5> : tensor<i32>
    %turns = stablehlo.constant dense<6> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<6x4xf32>
    %0:3 = stablehlo.while(%i = %c0, %x = %x0, %xs = %zeros) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
    cond {
      %more = stablehlo.compare LT, %i, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.sine %x : tensor<4xf32>
      %x1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
      %xs1 = stablehlo.dynamic_update_slice %xs, %x1, %i, %c0 : (tensor<6x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
      %i1 = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %i1, %next, %xs1 : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
    }
    %1:3 = stablehlo.while(%j = %c0, %y = %y0, %xs = %0#2) : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
    cond {
      %more = stablehlo.compare LT, %j, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %from = stablehlo.subtract %last, %j : tensor<i32>
      %x1 = stablehlo.dynamic_slice %xs, %from, %c0, sizes = [1, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
      %x2 = stablehlo.reshape %x1 : (tensor<1x4xf32>) -> tensor<4xf32>
      %next = stablehlo.multiply %y, %x2 : tensor<4xf32>
      %j1 = stablehlo.add %j, %c1 : tensor<i32>
      stablehlo.return %j1, %next, %xs : tensor<i32>, tensor<4xf32>, tensor<6x4xf32>
    }
    return %1#1 : tensor<4xf32>
  }
}

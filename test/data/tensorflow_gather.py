# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What TensorFlow hands to XLA: a sum over a million gathered elements.

    python test/data/tensorflow_gather.py > test/data/tensorflow_gather.mlir

in an environment with tensorflow-cpu 2.21.0, which nothing else here needs.
"""

import re

import tensorflow as tf


@tf.function(jit_compile=True)
def total(table: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.sin(tf.gather_nd(table, index)) * 0.5)


lowered = total.experimental_get_compiler_ir(
    tf.TensorSpec((128, 128), tf.float32), tf.TensorSpec((1 << 20, 2), tf.int32)
)
# Files' names without their folders, so that the text is the same wherever it is made.
print(re.sub(r'loc\("[^"]*/', 'loc("', lowered(stage="stablehlo")), end="")

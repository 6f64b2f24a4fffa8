# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gradient of one layer of attention, with the lines that each op comes from.

    python test/data/attention_gradient.py > test/data/attention_gradient.mlir

As people write it, the scores of all queries against all keys are there at once, several times over.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp

# The file's name without its folders, so that the text is the same wherever it is made.
jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/")

BATCH, LENGTH, HEADS, WIDTH = 8, 2048, 16, 64


def loss(query: jax.Array, key: jax.Array, value: jax.Array, weight: jax.Array) -> jax.Array:
    """Attention, a projection, and one number."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / WIDTH**0.5
    shares = jax.nn.softmax(scores, axis=-1)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", shares, value)
    projected = mixed.reshape(BATCH, LENGTH, HEADS * WIDTH) @ weight
    return jnp.tanh(projected).sum()


def main() -> None:
    """Prints the module."""
    tokens = jax.ShapeDtypeStruct((BATCH, LENGTH, HEADS, WIDTH), jnp.bfloat16)
    weight = jax.ShapeDtypeStruct((HEADS * WIDTH, HEADS * WIDTH), jnp.bfloat16)
    lowered = jax.jit(jax.grad(loss, argnums=(0, 1, 2, 3))).lower(tokens, tokens, tokens, weight)
    sys.stdout.write(lowered.as_text(debug_info=True))


if __name__ == "__main__":
    main()

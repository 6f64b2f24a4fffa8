# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference programs, in JAX."""
PROGRAMS = {}

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What JAX calls when it looks for plugins. It does something only where the environment has SLIMHLO.

This is a package of its own and imports nothing, so that whoever has slimhlo installed and does not ask for it notices nothing of it.
"""

import os


def initialize() -> None:
    """`SLIMHLO=1`, or `SLIMHLO=always` and other modes, is `slimhlo.enable()` without a line of code."""
    mode = os.environ.get("SLIMHLO", "").strip().lower()
    if mode in ("", "0"):
        return
    from slimhlo import _layer

    _layer.enable_from_environment(mode)

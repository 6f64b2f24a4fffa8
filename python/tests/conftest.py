# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX on a CPU that is four devices."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

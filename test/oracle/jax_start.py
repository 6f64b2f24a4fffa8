# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How JAX starts in these scripts. To be called before it is imported, for it reads what is set here once."""

from __future__ import annotations

import os

CPU_DEVICES = 8
"""Virtual ones, so that partitioned modules can be compiled and run."""


def start() -> None:
    """Sets what the caller's environment leaves open."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_force_host_platform_device_count" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={CPU_DEVICES}"
    # JAX's CUDA plugin looks for a driver and for CUDA's libraries, which compiling does not take.
    os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
    # libtpu asks the network what machine of Google's this is.
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
    os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")

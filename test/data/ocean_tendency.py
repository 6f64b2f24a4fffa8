# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tendency of zonal momentum in an ocean model on four devices, as people write it in JAX.

    python test/data/ocean_tendency.py > test/data/ocean_tendency.mlir

Each physical term needs a stencil of its own width, so each is known on an interior of its own; outside of it the term
is zero. Every term is written into zeros of the full size, a stablehlo.dynamic_update_slice, and the full fields are
added up. The grid is spread over a 2 x 2 mesh of devices. XLA's partitioner gathers whole fields onto each device for
each such update; pads of the same terms it partitions with exchanges of the halo alone.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_enable_x64", True)

LEVELS, ROWS, COLUMNS = 40, 768, 1280
DX, DY, DZ = 5.0e3, 5.0e3, 25.0
VISCOSITY, BIHARMONIC, VERTICAL_VISCOSITY, DRAG = 50.0, 1.0e9, 1.0e-4, 2.5e-3
REFERENCE_DENSITY, GRAVITY = 1026.0, 9.81

Field = jax.Array


def inside(field: Field, z: int, y: int, x: int) -> Field:
    """The field without z, y and x cells at each end."""
    levels, rows, columns = field.shape
    return field[z : levels - z, y : rows - y, x : columns - x]


def on_full_grid(term: Field, like: Field) -> Field:
    """The term in the middle of a field of zeros."""
    start = tuple((full - part) // 2 for full, part in zip(like.shape, term.shape, strict=True))
    return jax.lax.dynamic_update_slice(jnp.zeros_like(like), term, start)


def advection(u: Field, v: Field, w: Field) -> Field:
    """Centered advection of u; one cell of halo in each direction."""
    dudx = (u[1:-1, 1:-1, 2:] - u[1:-1, 1:-1, :-2]) / (2 * DX)
    dudy = (u[1:-1, 2:, 1:-1] - u[1:-1, :-2, 1:-1]) / (2 * DY)
    dudz = (u[2:, 1:-1, 1:-1] - u[:-2, 1:-1, 1:-1]) / (2 * DZ)
    return -(inside(u, 1, 1, 1) * dudx + inside(v, 1, 1, 1) * dudy + inside(w, 1, 1, 1) * dudz)


def coriolis(v: Field, f: Field) -> Field:
    """f times v, averaged to where u lives; one row and column of halo."""
    corners = v[:, 1:-1, 1:-1] + v[:, 2:, 1:-1] + v[:, 1:-1, :-2] + v[:, 2:, :-2]
    return 0.25 * f[None, 1:-1, None] * corners


def pressure_gradient(pressure: Field) -> Field:
    """One column of halo on the western side is enough, one on each is kept."""
    return -(pressure[:, :, 1:-1] - pressure[:, :, :-2]) / (REFERENCE_DENSITY * DX)


def laplacian(u: Field) -> Field:
    east_west = u[:, 1:-1, 2:] - 2 * u[:, 1:-1, 1:-1] + u[:, 1:-1, :-2]
    north_south = u[:, 2:, 1:-1] - 2 * u[:, 1:-1, 1:-1] + u[:, :-2, 1:-1]
    return east_west / DX**2 + north_south / DY**2


def vertical_diffusion(u: Field) -> Field:
    return VERTICAL_VISCOSITY * (u[2:] - 2 * u[1:-1] + u[:-2]) / DZ**2


def bottom_drag(u: Field, v: Field) -> Field:
    """Quadratic drag, on the lowest levels only."""
    return -DRAG * u[:2] * jnp.sqrt(u[:2] ** 2 + v[:2] ** 2) / DZ


def tendency(u: Field, v: Field, w: Field, pressure: Field, f: Field) -> Field:
    """du/dt on the full grid; zero where a term is not known."""
    total = on_full_grid(advection(u, v, w), u)
    total += on_full_grid(coriolis(v, f), u)
    total += on_full_grid(pressure_gradient(pressure), u)
    total += on_full_grid(VISCOSITY * laplacian(u), u)
    total += on_full_grid(-BIHARMONIC * laplacian(laplacian(u)), u)
    total += on_full_grid(vertical_diffusion(u), u)
    total += jax.lax.dynamic_update_slice(jnp.zeros_like(u), bottom_drag(u, v), (0, 0, 0))
    return total


def main() -> int:
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("rows", "columns"))
    on_grid, on_rows = NamedSharding(mesh, P(None, "rows", "columns")), NamedSharding(mesh, P("rows"))
    field = jax.ShapeDtypeStruct((LEVELS, ROWS, COLUMNS), jnp.float64, sharding=on_grid)
    rows = jax.ShapeDtypeStruct((ROWS,), jnp.float64, sharding=on_rows)
    step = jax.jit(tendency, out_shardings=on_grid)
    sys.stdout.write(step.lower(field, field, field, field, rows).as_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fields: spectral and finite-volume solvers, transforms on the sphere, an ocean model's step, a Brusselator's Jacobian."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

from corpus_program import Traced, mesh, program, spec, trace, train_step

STEPS = "residuals of time steps"
SPECTRAL = "residuals of spectral steps, with transforms among them"
STENCILS = "stencils, masks and concatenates of fields"
JACOBIANS = "slices and concatenates of fields"


def rolled_out(step, count: int):
    def run(state):
        return jax.lax.scan(lambda state, _: (step(state), None), state, None, count)[0]

    return run


@program(SPECTRAL, "exponax", "equinox", small={"points": 16, "steps": 4})
def navier_stokes_exponax(points: int = 256, steps: int = 100) -> Traced:
    """Kolmogorov flow by exponential time differencing: the gradient by the first vorticity of 100 steps."""
    import exponax as ex

    stepper = ex.stepper.KolmogorovFlowVorticity(2, 2 * np.pi, points, 0.01, diffusivity=1e-3)
    run = rolled_out(stepper, steps)
    loss = lambda start, target: jnp.mean((run(start) - target) ** 2)
    field = spec((1, points, points))
    return trace(jax.value_and_grad(loss), field, field)


@program(SPECTRAL, "exponax", "equinox", "optax", small={"batch": 2, "points": 32, "steps": 2})
def corrector_exponax(batch: int = 32, points: int = 160, steps: int = 5) -> Traced:
    """A neural corrector of Burgers' equation in two dimensions, trained through the solver's steps."""
    import equinox as eqx
    import exponax as ex
    import optax

    stepper = ex.stepper.Burgers(2, 1.0, points, 0.01, diffusivity=1e-2)
    make = lambda key: [
        eqx.nn.Conv2d(i, o, 3, padding="SAME", padding_mode="CIRCULAR", key=each)
        for i, o, each in zip((2, 32, 32, 32), (32, 32, 32, 2), jax.random.split(key, 4), strict=True)
    ]
    model = eqx.filter_eval_shape(make, jax.random.PRNGKey(0))
    parameters, static = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def loss(parameters, start, target):
        layers = eqx.combine(parameters, static)

        def corrected(field):
            field = hidden = stepper(field)
            for layer in layers[:-1]:
                hidden = jax.nn.gelu(layer(hidden))
            return field + layers[-1](hidden)

        return jnp.mean((jax.vmap(rolled_out(corrected, steps))(start) - target) ** 2)

    fields = spec((batch, 2, points, points))
    return train_step(loss, optax.adam(1e-4), parameters, fields, fields)


@program(STEPS, "jax_cfd", small={"points": 32, "steps": 2})
def finite_volumes_jax_cfd(points: int = 512, steps: int = 50) -> Traced:
    """JAX-CFD's finite volumes on a staggered grid, fast diagonalization for the pressure: the gradient by the first
    velocities."""
    import jax_cfd.base as cfd

    grid = cfd.grids.Grid((points, points), domain=((0, 2 * np.pi), (0, 2 * np.pi)))
    boundary = cfd.boundaries.periodic_boundary_conditions(2)
    step = cfd.equations.semi_implicit_navier_stokes(density=1.0, viscosity=1e-3, dt=1e-3, grid=grid)
    offsets = ((1.0, 0.5), (0.5, 1.0))

    def loss(one, two, target):
        fields = (cfd.grids.GridArray(each, offset, grid) for each, offset in zip((one, two), offsets, strict=True))
        start = tuple(cfd.grids.GridVariable(field, boundary) for field in fields)
        end = rolled_out(step, steps)(start)
        return jnp.mean((end[0].data - target) ** 2)

    field = spec((points, points))
    return trace(jax.value_and_grad(loss, (0, 1)), field, field, field)


@program(SPECTRAL, "jax_cfd", small={"points": 32, "steps": 2})
def spectral_jax_cfd(points: int = 1024, steps: int = 50) -> Traced:
    """JAX-CFD's pseudospectral Navier-Stokes equations, Crank-Nicolson with a Runge-Kutta method of order four: a gradient."""
    import jax_cfd.base as cfd
    import jax_cfd.spectral as spectral

    grid = cfd.grids.Grid((points, points), domain=((0, 2 * np.pi), (0, 2 * np.pi)))
    equation = spectral.equations.NavierStokes2D(1e-3, grid, smooth=True)
    step = spectral.time_stepping.crank_nicolson_rk4(equation, 1e-3)

    def loss(vorticity, target):
        end = jnp.fft.irfftn(rolled_out(step, steps)(jnp.fft.rfftn(vorticity)))
        return jnp.mean((end - target) ** 2)

    field = spec((points, points))
    return trace(jax.value_and_grad(loss), field, field)


@program(SPECTRAL, "s2fft", wide=True, small={"limit": 16})
def sphere_s2fft(limit: int = 512) -> Traced:
    """Spherical harmonics, forward and back, by precomputed Legendre recursions: a fit's gradient by the coefficients."""
    import s2fft

    def loss(coefficients, data):
        field = s2fft.inverse(coefficients, limit, sampling="mw", method="jax", reality=False)
        return jnp.mean(jnp.abs(field - data) ** 2)

    coefficients = spec((limit, 2 * limit - 1), jnp.complex128)
    return trace(jax.value_and_grad(loss), coefficients, spec((limit, 2 * limit - 1), jnp.complex128))


# --- an ocean model ---------------------------------------------------------------------------------------------------


def ocean_tendencies(fields: dict[str, jax.Array], mask: jax.Array, halo: int) -> dict[str, jax.Array]:
    """Tendencies of a hydrostatic ocean in its interior, on fields with halos: upwind advection of third order, centred
    pressure and buoyancy, Coriolis, and vertical and horizontal diffusion, masked where there is land. Axes are
    depth, y, x."""
    inner = tuple(slice(halo, size - halo) for size in fields["u"].shape)

    def at(field: jax.Array, z: int = 0, y: int = 0, x: int = 0) -> jax.Array:
        moved = zip(inner, (z, y, x), strict=True)
        return field[tuple(slice(part.start + by, part.stop + by) for part, by in moved)]

    def flux(field: jax.Array, speed: jax.Array, axis: str, by: int) -> jax.Array:
        """What the flow carries through the face below, or above if `by` is 1."""
        one, two, three, four = (at(field, **{axis: by + offset}) for offset in (-2, -1, 0, 1))
        from_below, from_above = (2 * three + 5 * two - one) / 6, (2 * two + 5 * three - four) / 6
        through = at(speed, **{axis: by})
        return through * jnp.where(through > 0, from_below, from_above)

    def masked(value: jax.Array, axis: str, by: int) -> jax.Array:
        wet = at(mask) & at(mask, **{axis: 2 * by - 1})
        return jnp.where(wet, value, 0.0)

    def advected(field: jax.Array) -> jax.Array:
        ways = (("x", fields["u"]), ("y", fields["v"]), ("z", fields["w"]))
        return sum(
            masked(flux(field, speed, axis, 1), axis, 1) - masked(flux(field, speed, axis, 0), axis, 0)
            for axis, speed in ways
        )

    def diffused(field: jax.Array) -> jax.Array:
        one = lambda axis: at(field, **{axis: 1}) - 2 * at(field) + at(field, **{axis: -1})
        return 0.1 * one("z") + 0.02 * (one("x") + one("y"))

    buoyancy = 9.81 * (2e-4 * fields["T"] - 8e-4 * fields["S"])
    pressure = jnp.cumsum(buoyancy[::-1], 0)[::-1]
    turned = lambda name: 0.25 * sum(at(fields[name], y=i, x=j) for i in (0, 1) for j in (0, 1))
    tendencies = {name: diffused(fields[name]) - advected(fields[name]) for name in ("u", "v", "T", "S", "e")}
    tendencies["u"] += 1e-4 * turned("v") - (at(pressure) - at(pressure, x=-1))
    tendencies["v"] += -1e-4 * turned("u") - (at(pressure) - at(pressure, y=-1))
    shear = (at(fields["u"], z=1) - at(fields["u"])) ** 2 + (at(fields["v"], z=1) - at(fields["v"])) ** 2
    tendencies["e"] += 0.1 * shear - jnp.sqrt(jnp.maximum(at(fields["e"]), 0.0)) ** 3
    return {name: jnp.where(at(mask), value, 0.0) for name, value in tendencies.items()}


def with_halo(inner: jax.Array, halo: int) -> jax.Array:
    """A field with its halo: periodic in x, its edges repeated in y and z."""
    inner = jnp.concatenate([inner[..., -halo:], inner, inner[..., :halo]], -1)
    repeated = lambda edge, axis: jnp.repeat(edge, halo, axis)
    inner = jnp.concatenate([repeated(inner[:, :1], 1), inner, repeated(inner[:, -1:], 1)], 1)
    return jnp.concatenate([repeated(inner[:1], 0), inner, repeated(inner[-1:], 0)], 0)


def ocean_step(fields: dict[str, jax.Array], mask: jax.Array, halo: int) -> dict[str, jax.Array]:
    """Adams and Bashforth's step of second order: interior updated, halos filled (periodic in x, closed in y and z),
    vertical speed from what flows in."""
    inner = tuple(slice(halo, size - halo) for size in fields["u"].shape)
    now = ocean_tendencies(fields, mask, halo)
    stepped = dict(fields)
    for name, tendency in now.items():
        new = fields[name][inner] + 60.0 * (1.6 * tendency - 0.6 * fields[f"G{name}"][inner])
        if name in "TS":
            # Implicit vertical diffusion, by Thomas' algorithm.
            ratio = 0.1 / (1.2 + jnp.arange(new.shape[0]) * 0.01)

            def down(carry, row):
                part, share = row
                carry = (part + share * carry) / (1 + share)
                return carry, carry

            new = jax.lax.scan(down, jnp.zeros_like(new[0]), (new, ratio))[1]
        for store, value in ((name, new), (f"G{name}", tendency)):
            stepped[store] = with_halo(value, halo)
    outflow = (jnp.roll(stepped["u"], -1, 2) - stepped["u"]) + (jnp.roll(stepped["v"], -1, 1) - stepped["v"])
    stepped["w"] = -jnp.cumsum(outflow, 0)
    return stepped


def ocean_fields(depth: int, rows: int, columns: int, halo: int, sharding: object = None) -> dict[str, object]:
    shape = (depth + 2 * halo, rows + 2 * halo, columns + 2 * halo)
    names = ("u", "v", "w", "T", "S", "e", "Gu", "Gv", "GT", "GS", "Ge")
    return {name: spec(shape, jnp.float64, sharding) for name in names}


@program(STENCILS, wide=True, small={"depth": 4, "rows": 16, "columns": 24})
def ocean_step_jax(depth: int = 24, rows: int = 180, columns: int = 360, steps: int = 4, halo: int = 3) -> Traced:
    """Steps of a hydrostatic ocean on fields with halos, unrolled as Reactant's are: stencils, masks, concatenates, f64."""

    def run(fields, mask):
        for _ in range(steps):
            fields = ocean_step(fields, mask, halo)
        return fields

    fields = ocean_fields(depth, rows, columns, halo)
    return trace(run, fields, spec(fields["u"].shape, jnp.bool_), donate=(0,))


@program(STENCILS, wide=True, small={"depth": 4, "rows": 16, "columns": 24})
def ocean_gradient_jax(depth: int = 24, rows: int = 180, columns: int = 360, steps: int = 8, halo: int = 3) -> Traced:
    """The gradient of the kinetic energy after some steps by all fields at the beginning, in a scan."""

    def energy(fields, mask):
        end = rolled_out(lambda fields: ocean_step(fields, mask, halo), steps)(fields)
        return jnp.sum(end["u"] ** 2 + end["v"] ** 2)

    fields = ocean_fields(depth, rows, columns, halo)
    return trace(jax.value_and_grad(energy), fields, spec(fields["u"].shape, jnp.bool_))


@program(STENCILS, wide=True, devices=4)
def ocean_sharded_jax(depth: int = 32, rows: int = 378, columns: int = 762, halo: int = 3) -> Traced:
    """One step on four devices, two by two, rows and columns cut."""
    cut = jax.NamedSharding(mesh(y=2, x=2), P(None, "y", "x"))
    fields = ocean_fields(depth, rows, columns, halo, cut)
    step = lambda fields, mask: ocean_step(fields, mask, halo)
    out = {name: cut for name in fields}
    return jax.jit(step, donate_argnums=0, out_shardings=out).trace(fields, spec(fields["u"].shape, jnp.bool_, cut))


# --- a Brusselator ------------------------------------------------------------------------------------------------------


def brusselator(state: jax.Array) -> jax.Array:
    """Tendencies of the two concentrations on a periodic square, neighbours by slices and concatenates."""

    def shifted(field: jax.Array, axis: int, by: int) -> jax.Array:
        size = field.shape[axis]
        cut = by % size
        part = lambda start, end: jax.lax.slice_in_dim(field, start, end, axis=axis)
        return jnp.concatenate([part(cut, size), part(0, cut)], axis)

    u, v = state
    laplace = lambda field: (
        (sum(shifted(field, axis, by) for axis in (0, 1) for by in (-1, 1)) - 4 * field) * (field.shape[0] - 1) ** 2
    )
    places = jnp.arange(u.shape[0]) / (u.shape[0] - 1)
    hot = ((places[:, None] - 0.3) ** 2 + (places[None] - 0.6) ** 2 <= 0.01) * 5.0
    return jnp.stack([
        1.0 + u**2 * v - 4.4 * u + 1e-2 * laplace(u) + hot,
        3.4 * u - u**2 * v + 1e-2 * laplace(v),
    ])  # fmt: skip


@program(JACOBIANS, small={"size": 32})
def brusselator_jacobian_jax(size: int = 4096, colors: int = 8) -> Traced:
    """A Jacobian by colors: products with vectors for eight colors at once, in f32."""

    def columns(state, seeds):
        return jax.vmap(lambda seed: jax.jvp(brusselator, (state,), (seed,))[1])(seeds)

    return trace(columns, spec((2, size, size)), spec((colors, 2, size, size)))


@program(JACOBIANS, wide=True, small={"size": 32, "steps": 3})
def brusselator_adjoint_jax(size: int = 1024, steps: int = 100) -> Traced:
    """A hundred steps of Heun's method, and the gradient by the state at the beginning, f64."""

    def step(state):
        first = brusselator(state)
        return state + 5e-9 * (first + brusselator(state + 1e-8 * first))

    loss = lambda state: jnp.sum(rolled_out(step, steps)(state) ** 2)
    return trace(jax.value_and_grad(loss), spec((2, size, size), jnp.float64))

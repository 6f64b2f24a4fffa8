# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Differential equations, quantum states and neurons: diffrax, dynamiqs, netket, jaxley."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from corpus_program import Traced, key, program, shapes_of, spec, trace, train_step

ADJOINTS = "adjoints of ODEs and SDEs: checkpoints, weight gradients by sample"
STATES = "wave functions and samples of them"
STEPS = "residuals of time steps"


@program(ADJOINTS, "diffrax", "equinox", "optax", small={"batch": 8, "width": 16, "steps": 16})
def neural_ode_diffrax(batch: int = 4096, width: int = 256, steps: int = 256) -> Traced:
    """A neural ODE under vmap: Tsit5 with constant steps, the recursive checkpointed adjoint."""
    import diffrax
    import equinox as eqx
    import optax

    make = lambda key: eqx.nn.MLP(16, 16, width, 2, jax.nn.softplus, key=key)
    model = eqx.filter_eval_shape(make, jax.random.PRNGKey(0))
    parameters, static = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def loss(parameters, starts, ends):
        field = eqx.combine(parameters, static)

        def one(start):
            term = diffrax.ODETerm(lambda t, y, args: field(y))
            return diffrax.diffeqsolve(
                term, diffrax.Tsit5(), 0.0, 1.0, 1.0 / steps, start, stepsize_controller=diffrax.ConstantStepSize(),
                max_steps=steps, adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=16),
            ).ys[-1]  # fmt: skip

        return jnp.mean((jax.vmap(one)(starts) - ends) ** 2)

    return train_step(loss, optax.adam(1e-3), parameters, spec((batch, 16)), spec((batch, 16)))


@program(ADJOINTS, "diffrax", "equinox", "optax", small={"batch": 8, "steps": 8})
def neural_sde_diffrax(batch: int = 1024, steps: int = 100) -> Traced:
    """A neural SDE with a virtual Brownian tree, Euler and Heun's method, direct backpropagation."""
    import diffrax
    import equinox as eqx
    import optax

    size, noise = 16, 8

    def make(key):
        one, two = jax.random.split(key)
        drift = eqx.nn.MLP(size, size, 128, 2, jax.nn.silu, key=one)
        return drift, eqx.nn.MLP(size, size * noise, 128, 2, jax.nn.silu, jnp.tanh, key=two)

    model = eqx.filter_eval_shape(make, jax.random.PRNGKey(0))
    parameters, static = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def loss(parameters, keys, starts, ends):
        drift, diffusion = eqx.combine(parameters, static)

        def one(key, start):
            path = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-3, (noise,), key)
            terms = diffrax.MultiTerm(
                diffrax.ODETerm(lambda t, y, args: drift(y)),
                diffrax.ControlTerm(lambda t, y, args: diffusion(y).reshape((size, noise)), path),
            )
            return diffrax.diffeqsolve(
                terms, diffrax.Heun(), 0.0, 1.0, 1.0 / steps, start, max_steps=steps + 1,
                adjoint=diffrax.DirectAdjoint(),
            ).ys[-1]  # fmt: skip

        return jnp.mean((jax.vmap(one)(keys, starts) - ends) ** 2)

    keys = spec((batch, 2), jnp.uint32)
    return train_step(loss, optax.adam(1e-3), parameters, keys, spec((batch, size)), spec((batch, size)))


@program(ADJOINTS, "dynamiqs", small={"size": 8})
def master_equation_dynamiqs(size: int = 64) -> Traced:
    """Lindblad's equation of two coupled cavities, batched over drives, and the gradient by the drive."""
    import dynamiqs as dq

    def loss(drives):
        one, two = dq.destroy(size // 8, 8)
        hamiltonian = one.dag() @ two + two.dag() @ one
        drive = one + one.dag()

        def of_drive(amplitude):
            found = dq.mesolve(
                hamiltonian + amplitude * drive, [one, 0.1 * two], dq.fock((size // 8, 8), (1, 0)),
                jnp.linspace(0.0, 1.0, 11), method=dq.method.Tsit5(max_steps=1000),
                gradient=dq.gradient.BackwardCheckpointed(), progress_meter=False,
            )  # fmt: skip
            return dq.expect(two.dag() @ two, found.states[-1]).real

        return jnp.sum(jax.vmap(of_drive)(drives))

    return trace(jax.value_and_grad(loss), spec((32,)))


@program(STATES, "netket", "flax", wide=True, small={"samples": 64, "sites": 8})
def monte_carlo_netket(samples: int = 4096, sites: int = 144) -> Traced:
    """Variational Monte Carlo with a restricted Boltzmann machine: local energies of an Ising model on a lattice, and the
    gradient."""
    from netket.models import RBM

    model = RBM(alpha=4, param_dtype=complex)
    states = spec((samples, sites), jnp.float64)
    parameters = shapes_of(model.init, key(), spec((1, sites), jnp.float64))

    def loss(parameters, states):
        flips = 1 - 2 * jnp.eye(sites)
        connected = jnp.concatenate([states[:, None], states[:, None] * flips], 1)
        logs = model.apply(parameters, connected)
        here = logs[:, 0]
        diagonal = -jnp.sum(states * jnp.roll(states, 1, -1), -1)
        local = diagonal - 0.7 * jnp.sum(jnp.exp(logs[:, 1:] - here[:, None]), -1)
        local = jax.lax.stop_gradient(local - jnp.mean(local))
        return jnp.mean(jnp.real(jnp.conj(local) * model.apply(parameters, states))), jnp.mean(jnp.abs(local) ** 2)

    return trace(jax.value_and_grad(loss, has_aux=True), parameters, states)


@program(STATES, "netket", "flax", wide=True, small={"samples": 32, "sites": 8})
def natural_gradient_netket(samples: int = 2048, sites: int = 100) -> Traced:
    """Stochastic reconfiguration in its sample space: a group-symmetric network's Jacobian by sample and a solve of samples
    by samples."""
    from netket.models import RBM

    model = RBM(alpha=8, param_dtype=float)
    parameters = shapes_of(model.init, key(), spec((1, sites), jnp.float64))

    def step(parameters, states, energies):
        flat, back = jax.flatten_util.ravel_pytree(parameters)
        one = lambda flat, state: model.apply(back(flat), state[None])[0]
        rows = jax.vmap(jax.grad(one), (None, 0))(flat, states)
        rows = (rows - jnp.mean(rows, 0)) / samples**0.5
        kernel = rows @ rows.T + 1e-3 * jnp.eye(samples)
        solved = jax.scipy.linalg.solve(kernel, energies - jnp.mean(energies), assume_a="pos")
        return back(flat - 1e-2 * rows.T @ solved)

    import jax.flatten_util

    return trace(step, parameters, spec((samples, sites), jnp.float64), spec((samples,), jnp.float64))


@program(STEPS, "jaxley", "optax", wide=True)
def cable_jaxley(compartments: int = 4, steps: int = 4000, batch: int = 32) -> Traced:
    """A branched neuron with Hodgkin and Huxley's channels: the gradient through implicit steps of the cable equation."""
    import jaxley as jx
    from jaxley.channels import HH

    branch = jx.Branch(jx.Compartment(), ncomp=compartments)
    cell = jx.Cell(branch, parents=[-1, 0, 0, 1, 1, 2, 2])
    cell.insert(HH())
    cell.branch(0).loc(0.0).record("v", verbose=False)
    cell.make_trainable("radius", verbose=False)
    parameters = cell.get_parameters()

    def loss(parameters, currents, target):
        def one(current, target):
            stimuli = cell.branch(0).loc(0.0).data_stimulate(current)
            return jnp.mean((jx.integrate(cell, params=parameters, data_stimuli=stimuli) - target) ** 2)

        return jnp.mean(jax.vmap(one)(currents, target))

    shapes = jax.tree.map(lambda leaf: spec(leaf.shape, leaf.dtype), parameters)
    wide = lambda *shape: spec(shape, jnp.float64)
    return trace(jax.value_and_grad(loss), shapes, wide(batch, steps), wide(batch, 1, steps + 1))

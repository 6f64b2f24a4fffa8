# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling, variational inference, flows, Gaussian processes: numpyro, blackjax, distrax, flowjax, tinygp, gpjax,
optimistix, lineax."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from corpus_program import Traced, key, program, shapes_of, spec, trace, train_step

SOLVES = "operands of triangular solves, Cholesky and QR"
LIKELIHOODS = "likelihoods of all data, by chain or sample"
FLOWS = "activations of flows and variational samples"


@program(LIKELIHOODS, "numpyro", small={"rows": 2000, "columns": 8, "chains": 2})
def hmc_numpyro(rows: int = 500_000, columns: int = 54, chains: int = 8) -> Traced:
    """NUTS on a logistic regression of the size of Covertype, chains side by side: one step."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer.hmc import hmc
    from numpyro.infer.util import initialize_model

    def model(features, labels):
        weights = numpyro.sample("weights", dist.Normal(jnp.zeros(columns), 1.0).to_event(1))
        bias = numpyro.sample("bias", dist.Normal(0.0, 10.0))
        numpyro.sample("labels", dist.Bernoulli(logits=features @ weights + bias), obs=labels)

    def step(key, features, labels):
        info = initialize_model(key, model, model_args=(features, labels), dynamic_args=True)
        init, sample = hmc(potential_fn_gen=info.potential_fn, algo="NUTS")

        def one(key):
            state = init(info.param_info, num_warmup=10, model_args=(features, labels), rng_key=key)
            return sample(state, model_args=(features, labels)).z

        return jax.vmap(one)(jax.random.split(key, chains))

    return trace(step, key(), spec((rows, columns)), spec((rows,)))


@program(LIKELIHOODS, "blackjax", small={"rows": 1000, "chains": 4, "steps": 3})
def chains_blackjax(rows: int = 20_000, columns: int = 128, chains: int = 512, steps: int = 50) -> Traced:
    """HMC with 512 chains of a Poisson regression under vmap."""
    import blackjax

    def run(keys, places, features, counts):
        def density(weights):
            rate = features @ weights
            return jnp.sum(counts * rate - jnp.exp(rate)) - 0.5 * jnp.sum(weights**2)

        kernel = blackjax.hmc(density, 1e-3, jnp.ones(columns), 10)

        def one(key, place):
            def step(state, key):
                state, info = kernel.step(key, state)
                return state, info.acceptance_rate

            state, rates = jax.lax.scan(step, kernel.init(place), jax.random.split(key, steps))
            return state.position, jnp.mean(rates)

        return jax.vmap(one)(keys, places)

    shapes = spec((chains, 2), jnp.uint32), spec((chains, columns)), spec((rows, columns)), spec((rows,))
    return trace(run, *shapes)


@program(FLOWS, "distrax", "haiku", "optax", small={"batch": 16})
def spline_flow_distrax(batch: int = 8192) -> Traced:
    """Neural spline couplings, eight of them on 64 dimensions: the likelihood's gradient and Adam."""
    import distrax
    import haiku as hk
    import optax

    bins, size = 16, 64

    def density(points):
        layers = []
        mask = jnp.arange(size) % 2 == 0
        for _ in range(8):

            def conditioner(x):
                hidden = hk.nets.MLP([512, 512], activate_final=True)(x)
                parameters = hk.Linear(size * (3 * bins + 1), w_init=jnp.zeros, b_init=jnp.zeros)(hidden)
                return parameters.reshape((*x.shape, 3 * bins + 1))

            spline = lambda parameters: distrax.RationalQuadraticSpline(parameters, -5.0, 5.0)
            layers.append(distrax.MaskedCoupling(mask, conditioner, spline))
            mask = ~mask
        base = distrax.Independent(distrax.Normal(jnp.zeros(size), jnp.ones(size)), 1)
        return distrax.Transformed(base, distrax.Inverse(distrax.Chain(layers))).log_prob(points)

    model = hk.without_apply_rng(hk.transform(density))
    points = spec((batch, size))
    loss = lambda parameters, points: -jnp.mean(model.apply(parameters, points))
    return train_step(loss, optax.adam(1e-4), shapes_of(model.init, key(), points), points)


@program(FLOWS, "flowjax", "equinox", "optax", small={"batch": 16})
def autoregressive_flowjax(batch: int = 16_384, size: int = 32) -> Traced:
    """A masked autoregressive flow of eight layers, its layers stacked under a scan."""
    import equinox as eqx
    import optax
    from flowjax.distributions import Normal
    from flowjax.flows import masked_autoregressive_flow
    from paramax import unwrap

    make = lambda key: masked_autoregressive_flow(key, base_dist=Normal(jnp.zeros(size)), nn_width=256, nn_depth=2)
    flow = eqx.filter_eval_shape(make, jax.random.key(0))
    is_float = lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct) and jnp.issubdtype(leaf.dtype, jnp.inexact)
    parameters, others = eqx.partition(flow, is_float)
    others, static = eqx.partition(others, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def loss(parameters, others, points):
        return -jnp.mean(unwrap(eqx.combine(parameters, others, static)).log_prob(points))

    return train_step(loss, optax.adam(1e-3), parameters, others, spec((batch, size)))


@program(SOLVES, "tinygp", wide=True, small={"points": 200})
def likelihood_tinygp(points: int = 6000) -> Traced:
    """A Gaussian process's likelihood and its gradient by a dense Cholesky decomposition, f64."""
    from tinygp import GaussianProcess, kernels

    def loss(parameters, places, values):
        kernel = jnp.exp(parameters[0]) * kernels.Matern52(jnp.exp(parameters[1]))
        kernel += jnp.exp(parameters[2]) * kernels.ExpSineSquared(scale=jnp.exp(parameters[3]), gamma=1.5)
        return -GaussianProcess(kernel, places, diag=jnp.exp(parameters[4])).log_probability(values)

    wide = lambda *shape: spec(shape, jnp.float64)
    return trace(jax.value_and_grad(loss), wide(5), wide(points), wide(points))


@program(SOLVES, "gpjax", "optax", wide=True, small={"rows": 500, "inducing": 20})
def collapsed_gpjax(rows: int = 100_000, inducing: int = 1000, columns: int = 8) -> Traced:
    """Titsias' collapsed bound of a sparse Gaussian process, its kernel by GPJax, and its gradient in f64."""
    from gpjax.kernels import RBF

    def loss(parameters, inputs, values):
        places, scale, variance, noise = parameters
        kernel = RBF(lengthscale=jnp.exp(scale), variance=jnp.exp(variance))
        inner = kernel.cross_covariance(places, places) + 1e-6 * jnp.eye(inducing)
        outer = kernel.cross_covariance(places, inputs)
        lower = jnp.linalg.cholesky(inner)
        half = jax.scipy.linalg.solve_triangular(lower, outer, lower=True) / jnp.exp(noise)
        inner_lower = jnp.linalg.cholesky(jnp.eye(inducing) + half @ half.T)
        projected = jax.scipy.linalg.solve_triangular(inner_lower, half @ values, lower=True)
        fit = jnp.sum(values**2) / jnp.exp(2 * noise) - jnp.sum(projected**2) / jnp.exp(2 * noise)
        trace_term = rows * jnp.exp(variance - 2 * noise) - jnp.sum(half**2)
        return 0.5 * (fit + trace_term) + jnp.sum(jnp.log(jnp.diag(inner_lower))) + rows * noise

    wide = lambda *shape: spec(shape, jnp.float64)
    parameters = (wide(inducing, columns), wide(columns), wide(), wide())
    return trace(jax.value_and_grad(loss), parameters, wide(rows, columns), wide(rows))


@program(SOLVES, "optimistix", "lineax", "equinox", small={"rows": 100, "width": 4})
def levenberg_optimistix(rows: int = 40_000, width: int = 24) -> Traced:
    """Levenberg and Marquardt's method on a small network: Jacobians of all rows, solved by QR."""
    import optimistix

    def residuals(weights, data):
        places, values = data
        one, bias, two, three = weights
        hidden = jnp.tanh(places @ one + bias)
        return jnp.tanh(hidden @ two) @ three - values

    def solve(weights, places, values):
        solver = optimistix.LevenbergMarquardt(rtol=1e-4, atol=1e-4)
        found = optimistix.least_squares(residuals, solver, weights, (places, values), max_steps=20, throw=False)
        return found.value

    weights = spec((4, width)), spec((width,)), spec((width, width)), spec((width,))
    return trace(solve, weights, spec((rows, 4)), spec((rows,)))


@program(SOLVES, "lineax", "equinox", small={"batch": 4, "rows": 64, "columns": 16})
def least_squares_lineax(batch: int = 64, rows: int = 2048, columns: int = 256) -> Traced:
    """Least squares by QR, under vmap, and the gradient through it."""
    import lineax

    def loss(matrices, sides):
        def one(matrix, side):
            return lineax.linear_solve(lineax.MatrixLinearOperator(matrix), side, lineax.QR()).value

        return jnp.sum(jnp.sin(jax.vmap(one)(matrices, sides)))

    return trace(jax.grad(loss), spec((batch, rows, columns)), spec((batch, rows)))


@program(FLOWS, "numpyro", "optax", "flax", small={"batch": 32})
def vae_numpyro(batch: int = 16_384) -> Traced:
    """A variational autoencoder with numpyro's ELBO of eight particles on 28 by 28 pixels."""
    import numpyro
    import numpyro.distributions as dist
    import optax
    from numpyro.infer import Trace_ELBO

    shapes = {"a": (784, 400), "b": (400, 50), "c": (400, 50), "d": (50, 400), "e": (400, 784)}

    def loss(parameters, key, images):
        def model(images):
            code = numpyro.sample("code", dist.Normal(jnp.zeros((batch, 50)), 1.0).to_event(2))
            logits = jax.nn.softplus(code @ parameters["d"]) @ parameters["e"]
            numpyro.sample("pixels", dist.Bernoulli(logits=logits).to_event(2), obs=images)

        def guide(images):
            hidden = jax.nn.softplus(images @ parameters["a"])
            scale = jnp.exp(0.5 * (hidden @ parameters["c"]))
            numpyro.sample("code", dist.Normal(hidden @ parameters["b"], scale).to_event(2))

        return Trace_ELBO(num_particles=8).loss(key, {}, model, guide, images)

    parameters = {name: spec(shape) for name, shape in shapes.items()}
    return train_step(loss, optax.adam(1e-3), parameters, key(), spec((batch, 784)))

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graph networks, equivariant networks and molecular dynamics: jraph, e3nn, jax-md."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from corpus_program import Traced, key, mesh, program, shapes_of, spec, trace, train_step

EDGES = "edges of graphs, before they are summed"
PAIRS = "pairs of particles, reduced along either axis"


def shape_of_graph(nodes: int, edges: int, width: int, edge_width: int, sharding: object = None):
    import jraph

    return jraph.GraphsTuple(
        nodes=spec((nodes, width)),
        edges=spec((edges, edge_width), sharding=sharding),
        senders=spec((edges,), jnp.int32, sharding),
        receivers=spec((edges,), jnp.int32, sharding),
        globals=None,
        n_node=spec((1,), jnp.int32),
        n_edge=spec((1,), jnp.int32),
    )


def interaction(layers: int, width: int):
    """An encoder, layers that update edges and nodes with residuals, a decoder: haiku and jraph."""
    import haiku as hk
    import jraph

    def mlp(*widths):
        return hk.Sequential([hk.nets.MLP(widths), hk.LayerNorm(-1, True, True)])

    def network(graph):
        join = lambda *parts: jnp.concatenate([part for part in parts if part is not None], -1)
        graph = graph._replace(nodes=mlp(width, width)(graph.nodes), edges=mlp(width, width)(graph.edges))
        for _ in range(layers):
            of_edges, of_nodes = mlp(width, width), mlp(width, width)
            network = jraph.GraphNetwork(
                lambda edges, sent, received, _, net=of_edges: net(join(edges, sent, received)),
                lambda nodes, _, received, __, net=of_nodes: net(join(nodes, received)),
            )
            new = network(graph)
            graph = graph._replace(nodes=graph.nodes + new.nodes, edges=graph.edges + new.edges)
        return hk.nets.MLP([width, 3])(graph.nodes)

    return hk.without_apply_rng(hk.transform(network))


@program(EDGES, "jraph", "haiku", "optax", small={"nodes": 500, "edges": 4000, "layers": 2})
def mesh_graph_jraph(nodes: int = 50_000, edges: int = 300_000, layers: int = 10) -> Traced:
    """A MeshGraphNet: ten layers of messages on a mesh, one step of training."""
    import optax

    model = interaction(layers, 128)
    graph, target = shape_of_graph(nodes, edges, 12, 7), spec((nodes, 3))
    parameters = shapes_of(model.init, key(), graph)
    loss = lambda parameters, graph, target: jnp.mean((model.apply(parameters, graph) - target) ** 2)
    return train_step(loss, optax.adam(1e-4), parameters, graph, target)


@program(EDGES, "jraph", "haiku", "optax", devices=4)
def sharded_graph_jraph(nodes: int = 50_000, edges: int = 400_000, layers: int = 4) -> Traced:
    """The same on four devices, the edges cut among them, nodes and parameters everywhere."""
    model = interaction(layers, 128)
    cut = jax.NamedSharding(mesh(edges=4), P("edges"))
    graph, target = shape_of_graph(nodes, edges, 12, 7, cut), spec((nodes, 3))
    parameters = shapes_of(model.init, key(), shape_of_graph(nodes, edges, 12, 7))
    loss = lambda parameters, graph, target: jnp.mean((model.apply(parameters, graph) - target) ** 2)

    def step(parameters, graph, target):
        value, gradient = jax.value_and_grad(loss)(parameters, graph, target)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, parameters, gradient), value

    return trace(step, parameters, graph, target, donate=(0,))


@program(EDGES, "jraph", "haiku", "optax")
def attention_graph_jraph(nodes: int = 170_000, edges: int = 2_300_000) -> Traced:
    """A graph attention network of the size of ogbn-arxiv with both directions of its edges, eight heads."""
    import haiku as hk
    import jraph
    import optax

    def attention(width):
        values, scores = hk.Linear(8 * width), hk.Linear(1)
        join = lambda sent, received: jnp.concatenate([sent, received], -1)
        return jraph.GAT(
            lambda nodes: values(nodes).reshape((nodes.shape[0], 8, width)),
            lambda sent, received, _: jax.nn.leaky_relu(scores(join(sent, received)), 0.2),
            lambda nodes: jax.nn.elu(nodes.reshape((nodes.shape[0], -1))),
        )

    def network(graph):
        for width in (32, 32, 5):
            graph = attention(width)(graph)
        return graph.nodes

    model = hk.without_apply_rng(hk.transform(network))
    graph = shape_of_graph(nodes, edges, 128, 1)
    parameters = shapes_of(model.init, key(), graph)

    def loss(parameters, graph, labels):
        logits = model.apply(parameters, graph)
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))

    return train_step(loss, optax.adam(5e-3), parameters, graph, spec((nodes,), jnp.int32))


@program(EDGES, "e3nn_jax", "flax", "optax", small={"atoms": 32, "edges": 200, "layers": 1})
def nequip_e3nn(atoms: int = 2048, edges: int = 50_000, layers: int = 3) -> Traced:
    """An equivariant potential as NequIP's: tensor products of neighbours with spherical harmonics, weighted by distance;
    energies, forces by a gradient, and the gradient of a loss on both."""
    import e3nn_jax as e3nn
    import flax.linen as nn
    import optax

    hidden = e3nn.Irreps("64x0e + 64x1o + 64x2e")

    class Model(nn.Module):
        @nn.compact
        def __call__(self, places, species, senders, receivers):
            reach = e3nn.IrrepsArray("1o", places[receivers] - places[senders])
            length = jnp.sqrt(jnp.sum(reach.array**2, -1) + 1e-8)
            harmonics = e3nn.spherical_harmonics([0, 1, 2], reach, True)
            basis = e3nn.bessel(length, 8, 5.0) * e3nn.poly_envelope(5, 2, 5.0)(length)[:, None]
            nodes = e3nn.IrrepsArray("64x0e", nn.Embed(4, 64)(species))
            for _ in range(layers):
                sent = e3nn.flax.Linear(nodes.irreps)(nodes)[senders]
                messages = e3nn.concatenate([sent, e3nn.tensor_product(sent, harmonics)]).filter(hidden).regroup()
                weights = nn.Dense(messages.irreps.num_irreps)(jax.nn.silu(nn.Dense(64)(basis)))
                summed = e3nn.scatter_sum(messages * weights, dst=receivers, output_size=atoms) / 5.0
                gates = e3nn.Irreps(f"{hidden.filter('0e').num_irreps + 128}x0e") + hidden.filter(drop="0e")
                nodes = e3nn.gate(e3nn.flax.Linear(gates)(summed))
            return jnp.sum(nn.Dense(1)(jax.nn.silu(nn.Dense(32)(nodes.filter("0e").array))))

    model = Model()
    places, species = spec((atoms, 3)), spec((atoms,), jnp.int32)
    senders = receivers = spec((edges,), jnp.int32)
    parameters = shapes_of(model.init, key(), places, species, senders, receivers)

    def loss(parameters, places, species, senders, receivers, energy, forces):
        of_places = lambda places: model.apply(parameters, places, species, senders, receivers)
        found, slope = jax.value_and_grad(of_places)(places)
        return (found - energy) ** 2 + jnp.mean((slope + forces) ** 2)

    return train_step(loss, optax.adam(1e-3), parameters, places, species, senders, receivers, spec(()), places)


@program(PAIRS, "jax_md", small={"particles": 200, "steps": 3})
def lennard_jones_jax_md(particles: int = 6000, steps: int = 1000) -> Traced:
    """Lennard-Jones particles, all pairs, in a Nose-Hoover thermostat."""
    from jax_md import energy, simulate, space

    displacement, shift = space.periodic(40.0)
    potential = energy.lennard_jones_pair(displacement)
    init, apply = simulate.nvt_nose_hoover(potential, shift, 1e-3, 0.5)

    def run(key, places):
        state = init(key, places, mass=1.0)
        return jax.lax.fori_loop(0, steps, lambda _, state: apply(state), state).position

    return trace(run, key(), spec((particles, 3)))


@program(PAIRS, "jax_md")
def neighbours_jax_md(particles: int = 64_000, neighbours: int = 60, steps: int = 100) -> Traced:
    """Soft spheres with lists of neighbours: positions after a hundred steps, and the gradient of their energy."""
    from jax_md import energy, quantity, space

    displacement, shift = space.periodic(38.0)
    each = jax.vmap(jax.vmap(displacement, (None, 0)))

    def potential(places, indices):
        reach = each(places, places[indices])
        distance = jnp.sqrt(jnp.sum(reach**2, -1) + 1e-12)
        there = indices < particles
        return 0.5 * jnp.sum(jnp.where(there, energy.soft_sphere(distance, *map(jnp.float32, (1.0, 10.0, 2.0))), 0.0))

    force = quantity.force(potential)

    def run(places, velocities, indices):
        def step(state, _):
            places, velocities = state
            velocities = velocities + 1e-3 * force(places, indices)
            return (shift(places, 1e-3 * velocities), velocities), None

        (places, velocities), _ = jax.lax.scan(step, (places, velocities), None, steps)
        return places, velocities, potential(places, indices)

    places = spec((particles, 3))
    return trace(run, places, places, spec((particles, neighbours), jnp.int32), donate=(0, 1))


@program(PAIRS, "jax_md", "flax", "optax", small={"particles": 100, "batch": 2})
def behler_parrinello_jax_md(particles: int = 256, batch: int = 32) -> Traced:
    """A neural potential on Behler's and Parrinello's symmetry functions: triples of particles; energies, forces, and a step
    of training."""
    import optax
    from flax import nnx
    from jax_md import energy, space

    displacement, _ = space.periodic(20.0)
    graph, state = nnx.split(energy.behler_parrinello(displacement, key=jax.random.PRNGKey(0)).model)
    places, target = spec((batch, particles, 3)), spec((batch,))
    parameters = jax.tree.map(lambda leaf: spec(leaf.shape, leaf.dtype), state)
    apply = lambda parameters, places: nnx.merge(graph, parameters)(places)

    def loss(parameters, places, energies, forces):
        found, slope = jax.vmap(jax.value_and_grad(apply, argnums=1), (None, 0))(parameters, places)
        return jnp.mean((found - energies) ** 2) + jnp.mean((slope + forces) ** 2)

    return train_step(loss, optax.adam(1e-3), parameters, places, target, places)

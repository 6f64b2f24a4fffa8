// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The cheapest way to have values where they are needed: each is kept, for its bytes, or computed again from others, for a price.
//!
//! A value is two nodes, and what is between them is what keeping it costs. Into the first flows what computing it again takes, and all that is
//! computed from; out of the second what is computed of it, and what is needed. A minimum cut between those who pay and those who
//! need is a cheapest choice (the way in which compilers of PyTorch's graphs split a step's forward from its backward part). Of all such
//! cuts the one next to what is needed is taken, from where the least has to be computed again.

use crate::ir;
use crate::tables::Table;
use melior::ir::Value;
use petgraph::Direction;
use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

/// What cannot be paid.
pub const ENDLESS: u64 = 1 << 60;

/// Who pays.
fn source() -> NodeIndex {
    NodeIndex::new(0)
}

/// Who needs.
fn sink() -> NodeIndex {
    NodeIndex::new(1)
}

/// Values, and what they cost.
pub struct Network<'c, 'a> {
    graph: DiGraph<Option<Value<'c, 'a>>, u64>,
    /// Each value's first node; the second one is next to it.
    nodes: Table<usize, NodeIndex>,
}

impl Default for Network<'_, '_> {
    fn default() -> Self {
        let mut graph = DiGraph::new();
        graph.add_node(None);
        graph.add_node(None);
        Self { graph, nodes: Table::default() }
    }
}

impl<'c, 'a> Network<'c, 'a> {
    /// How many nodes there are: a maximum flow is not linear in them.
    pub fn size(&self) -> usize {
        self.graph.node_count()
    }

    /// Adds a value that can be kept for `bytes`; false if it is known.
    pub fn add(&mut self, value: Value<'c, 'a>, bytes: impl FnOnce() -> u64) -> bool {
        let graph = &mut self.graph;
        let mut new = false;
        self.nodes.entry(ir::key(value)).or_insert_with(|| {
            new = true;
            let node = graph.add_node(Some(value));
            let after = graph.add_node(Some(value));
            graph.add_edge(node, after, bytes());
            node
        });
        new
    }

    /// A value that was added is needed.
    pub fn need(&mut self, value: Value<'c, 'a>) {
        let node = self.after(value);
        self.graph.add_edge(node, sink(), ENDLESS);
    }

    /// To compute a value again costs this.
    pub fn price(&mut self, value: Value<'c, 'a>, price: u64) {
        let node = self.nodes[&ir::key(value)];
        self.graph.add_edge(source(), node, price);
    }

    /// To compute a value again takes an operand; both were added.
    pub fn takes(&mut self, value: Value<'c, 'a>, operand: Value<'c, 'a>) {
        let (from, to) = (self.after(operand), self.nodes[&ir::key(value)]);
        self.graph.add_edge(from, to, ENDLESS);
    }

    fn after(&self, value: Value<'c, 'a>) -> NodeIndex {
        NodeIndex::new(self.nodes[&ir::key(value)].index() + 1)
    }

    /// The values to keep in the cheapest choice; `None` if what is needed cannot be had at all.
    pub fn cut(&self) -> Option<Vec<Value<'c, 'a>>> {
        let (price, flows) = dinics(&self.graph, source(), sink());
        if price >= ENDLESS {
            return None;
        }
        // All from where the sink can still be reached is computed again.
        let mut again = vec![false; self.graph.node_count()];
        let mut front = vec![sink()];
        again[sink().index()] = true;
        while let Some(node) = front.pop() {
            let into = self.graph.edges_directed(node, Direction::Incoming);
            let open =
                into.filter(|edge| flows[edge.id().index()] < *edge.weight()).map(|edge| edge.source());
            let out = self.graph.edges_directed(node, Direction::Outgoing);
            let back = out.filter(|edge| flows[edge.id().index()] > 0).map(|edge| edge.target());
            for next in open.chain(back) {
                if !std::mem::replace(&mut again[next.index()], true) {
                    front.push(next);
                }
            }
        }
        let firsts = self.graph.node_indices().skip(2).step_by(2);
        let kept = firsts.filter(|node| !again[node.index()] && again[node.index() + 1]);
        Some(kept.filter_map(|node| self.graph[node]).collect())
    }
}

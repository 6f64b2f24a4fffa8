// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a product's kernel takes along: elementwise ops before it and after it.
//!
//! XLA for GPUs makes a product and what is around it one kernel by Triton before it fuses anything else. After the product it takes
//! ops that alone use what is before them, and whose other operands are given to the computation or repeat numbers or what is given: a
//! bias, a scale, a sum that a loop carries. Before it, ops that read no more than they make, or of values that are given and that
//! nothing else reads. XLA for TPUs takes elementwise ops on either side, whatever their operands are, and concatenations before it.
//! Convolutions are a library's on GPUs, which reads what it is given from memory; products of f64 take nothing along
//! but what repeats an operand.
//! `test/print-memory/products.mlir`, `gpu-convolutions.mlir` and `tpu-pads.mlir` have each of these, as XLA compiles them.

use super::super::graph::{Class, Id};
use super::Fusion;
use crate::ir;
use crate::ops::products::is_complex_product;
use crate::target::Beside;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike, ValueLike};
use slimhlo_dialect::ffi::{element_type, op_name};

impl Fusion<'_, '_, '_> {
    /// For each product that has ops after it in its kernel, and each of these but the last, that last one.
    pub(super) fn with_products(&self) -> Vec<Option<Id>> {
        let mut last_of = vec![None; self.graph.nodes.len()];
        if self.storage.beside_products == Beside::Nothing {
            return last_of;
        }
        let kept = self.kept();
        for product in 0..self.graph.nodes.len() as Id {
            if !self.takes_along(product) {
                continue;
            }
            let mut members = vec![product];
            let mut last = product;
            while let [user] = *self.users.of(last)
                && !kept[last as usize]
                && self.follows(last, user)
            {
                members.push(user);
                last = user;
            }
            // What is only made wider in the end is stored as it was, and made wider by whoever reads it.
            if self.storage.beside_products == Beside::Anything {
                while last != product && self.widens(last) {
                    members.pop();
                    last = members[members.len() - 1];
                }
            }
            if last != product {
                members.iter().for_each(|&member| last_of[member as usize] = Some(last));
            }
        }
        last_of
    }

    /// Whether a node is a product of matrices of floats, which takes what is around it along.
    fn takes_along(&self, node: Id) -> bool {
        let node = &self.graph.nodes[node as usize];
        node.live
            && matches!(node.class, Class::Dot { .. })
            && node.op.is_some_and(|op| {
                let convolves = self.storage.beside_products == Beside::Anything;
                (matches!(op_name(op), "stablehlo.dot_general" | "stablehlo.dot")
                    || convolves && op_name(op) == "stablehlo.convolution")
                    && op
                        .operand(0)
                        .is_ok_and(|value| element_type(value.r#type()).is_some_and(|ty| ty.is_float()))
                    && !self.is_alone(op)
            })
    }

    /// Whether a product's kernel has nothing else in it: of f64 XLA for GPUs makes kernels by Triton, too, but takes along no
    /// more than what repeats an operand.
    fn is_alone(&self, op: OperationRef<'_, '_>) -> bool {
        let element = ir::operand(op, 0).and_then(|value| element_type(value.r#type()));
        self.storage.beside_products == Beside::Given && element.is_some_and(|ty| ty.is_f64())
    }

    /// Whether an op can come after `before` in the kernel of a product.
    fn follows(&self, before: Id, user: Id) -> bool {
        let node = &self.graph.nodes[user as usize];
        let bytes = |value: Id| self.graph.values[value as usize].bytes;
        if !matches!(node.class, Class::Map(_)) || node.count != 1 {
            return false;
        }
        let others = || node.operands.iter().filter(|&&operand| self.node_of(operand) != before);
        match self.storage.beside_products {
            Beside::Nothing => false,
            Beside::Given => {
                let taken: u64 = node.operands.iter().map(|&operand| bytes(operand)).sum();
                let is_last = self.users.of(user).is_empty();
                (is_last || bytes(node.first) <= taken + TOLERANCE)
                    && others().all(|&operand| self.is_given(operand) || self.repeats_given(operand))
            }
            Beside::Anything => others().all(|&operand| bytes(operand) <= bytes(node.first)),
        }
    }

    /// Whether a value is given to the computation, or part of it.
    fn is_given(&self, value: Id) -> bool {
        matches!(self.class(self.node_of(value)), Class::Parameter | Class::Constant)
    }

    /// Whether a value repeats a number, or what is given.
    fn repeats_given(&self, value: Id) -> bool {
        let node = &self.graph.nodes[self.node_of(value) as usize];
        let of = node.operands.first().filter(|_| node.class == Class::Broadcast);
        of.is_some_and(|&of| self.graph.values[of as usize].elements == 1 || self.is_given(of))
    }

    /// Whether a node is a library's convolution or product of complex numbers, which reads its operands from memory, whatever they
    /// are made of.
    pub(super) fn reads_memory(&self, node: Id) -> bool {
        let op = self.graph.nodes[node as usize].op;
        self.storage.library_convolves
            && op.is_some_and(|op| op_name(op) == "stablehlo.convolution" || is_complex_product(op))
    }

    /// Whether the kernel of a product computes an operand of `user`, which is that product or what is computed before it.
    pub(super) fn is_taken_before(&self, producer: Id, user: Id) -> bool {
        let product = self.graph.nodes[user as usize].op.filter(|op| op_name(*op) == "stablehlo.dot_general");
        if product.is_some_and(|op| self.is_alone(op)) && self.class(producer) != Class::Broadcast {
            return false;
        }
        let node = &self.graph.nodes[producer as usize];
        let bytes = |value: Id| self.graph.values[value as usize].bytes;
        match (self.storage.beside_products, node.class) {
            (Beside::Nothing, _) => self.storage.weighs_copies && self.widens(producer),
            (_, Class::Broadcast) => true,
            (Beside::Given, Class::Map(_)) => {
                let taken: u64 = node.operands.iter().map(|&operand| bytes(operand)).sum();
                let alone =
                    |&operand: &Id| self.is_given(operand) && self.users.of(self.node_of(operand)).len() <= 1;
                taken <= bytes(node.first) + TOLERANCE
                    || self.users.of(producer).len() == 1 && node.operands.iter().all(alone)
                    || node.operands.len() == 2
                        && node.operands.iter().any(|&operand| self.repeats_given(operand))
            }
            (
                Beside::Anything,
                Class::Map(_) | Class::Join { .. } | Class::Pad | Class::Move | Class::Read,
            ) => true,
            _ => false,
        }
    }
}

/// Bytes that an op may read more than it makes, or make more than it reads: XLA's own figure.
const TOLERANCE: u64 = 1024;

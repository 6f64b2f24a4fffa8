// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How long it takes to do an op again.

use crate::ir;
use crate::ir::plain;
use crate::memory::{EXPENSIVE, OnDevice, exchanging, in_library, known, product_seconds};
use crate::ops::class::{self, is_costly, is_elementwise};
use crate::rewrite::defining_op;
use crate::tables::Table;
use crate::target::{Rates, Storage, Target};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Value};
use slimhlo_dialect::ffi::op_name;
use std::cell::RefCell;
use std::rc::Rc;

/// What ops take, by their [numbers](known::numbered).
type Known = RefCell<Table<u32, Option<f64>>>;

/// What it takes to do ops of a function again, as far as it was asked: each window asks again, and each run of the
/// pass on the same.
pub struct Prices {
    pub rates: &'static Rates,
    storage: &'static Storage,
    /// The number of each op, by its key.
    numbers: Table<usize, u32>,
    known: Rc<Known>,
    devices: OnDevice,
}

impl Prices {
    pub fn new(function: OperationRef<'_, '_>, target: Target, rates: &'static Rates) -> Self {
        let numbers = known::numbers(&known::numbered(function));
        Self {
            rates,
            storage: target.storage(),
            numbers,
            known: known::once("again", function, target, Known::default),
            devices: OnDevice::new(function),
        }
    }

    /// Bytes that one device has of a value.
    pub fn bytes(&self, value: Value<'_, '_>) -> u64 {
        self.devices.size(value).0
    }

    /// What seconds cost, in quarters of bytes, where a byte is worth the time of moving it `moves` times.
    pub fn cost(&self, seconds: f64, moves: u64) -> u64 {
        (seconds * self.rates.bytes / moves.max(1) as f64 * 4.0) as u64
    }

    /// See [`seconds`].
    pub fn of(&self, op: OperationRef<'_, '_>) -> Option<f64> {
        let seconds = || seconds(op, self.rates, self.storage, &self.devices);
        match self.numbers.get(&ir::op_key(op)) {
            Some(number) => *self.known.borrow_mut().entry(*number).or_insert_with(seconds),
            None => seconds(),
        }
    }
}

/// Seconds of one device, as a kernel of its own if it is one; `None` for what is not to be done twice.
///
/// Of what is gathered arguments are there already: back ends gather a value once. What is made again is gathered again.
fn seconds(op: OperationRef<'_, '_>, rates: &Rates, storage: &Storage, devices: &OnDevice) -> Option<f64> {
    let result = ir::first_result(op).filter(|_| op.result_count() == 1)?;
    plain(result)?;
    let name = op_name(op);
    let (own, part) = (devices.size(result), devices.part(op));
    let (summands, (made, elements)) = part.unwrap_or((1, own));
    let (own, made) = (own.0 as f64, made as f64);
    let (mut read, mut exchanged) = (0.0, 0.0);
    for (number, value) in op.operands().enumerate() {
        let (there, needed) = (devices.size(value).0, devices.read(op, number, value));
        read += needed as f64;
        if there != needed && defining_op(value).is_some() {
            exchanged += exchanging(there as f64, needed as f64, 1, rates);
        }
    }
    if summands > 1 {
        exchanged += exchanging(made, own, summands, rates);
    }
    let local = name.strip_prefix("stablehlo.").or_else(|| name.strip_prefix("chlo."))?;
    match local {
        "dot_general" | "convolution" => {
            let computing = product_seconds(op, elements, rates) / f64::from(summands);
            let starting = if local == "dot_general" { rates.product } else { 0.0 };
            Some(rates.launch_in_graph + starting + computing.max((read + made) / rates.bytes) + exchanged)
        }
        "triangular_solve" => {
            Some(rates.launch_in_graph + in_library(op, storage).max((read + made) / rates.bytes) + exchanged)
        }
        "reduce" if has_body(op) => Some(rates.launch_in_graph + read / rates.bytes + exchanged),
        "transpose" | "concatenate" | "gather" | "pad" | "dynamic_slice" => {
            Some(rates.launch_in_graph + 2.0 * made / rates.bytes + exchanged)
        }
        _ if op.region_count() > 0 => None,
        // Computed within what reads it.
        _ if is_elementwise(name) || class::is_fusible(name) => {
            let each = if is_costly(name) { EXPENSIVE } else { 1.0 };
            Some(elements as f64 * each / rates.elementwise + exchanged)
        }
        _ => None,
    }
}

/// Whether a reduction has a body.
fn has_body(op: OperationRef<'_, '_>) -> bool {
    op.region(0).ok().and_then(|region| region.first_block()).is_some()
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A formed function as numbers: items that run, the values they read and make, and when those are alive.

use super::super::form_kernels::{is_donated, ops::size_of};
use crate::framework::PassError;
use crate::functions::{callee, name_of};
use crate::ir::{i64_array, key};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Value};
use slimhlo_dialect::ffi::{attribute_of, op_name};
use std::collections::HashMap;

pub type Id = usize;

/// Steps between the positions of two items: copies go in between.
pub const STRIDE: i64 = 16;
/// Later than everything.
pub const FOREVER: i64 = i64::MAX / 2;

/// What runs, or stands for something that does not have to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Call,
    While,
    Branch,
    View,
    Table,
    /// The last one of its block.
    End,
}

/// An op of the function or of one of its regions.
pub struct Item<'c, 'a> {
    pub op: OperationRef<'c, 'a>,
    pub kind: Kind,
    pub operands: Vec<Id>,
    pub results: Vec<Id>,
    /// Bytes of further buffers.
    pub scratch: Vec<Id>,
    /// By result: the operand whose memory it must be in.
    pub in_place: Vec<Option<usize>>,
    /// By result: operands whose memory it may be in.
    pub may_share: Vec<Vec<usize>>,
    pub blocks: Vec<usize>,
    pub block: usize,
    /// When it runs: where it starts and where it ends.
    pub from: i64,
    pub to: i64,
}

/// A value: an argument, a result, or scratch memory.
pub struct Content<'c, 'a> {
    pub value: Option<Value<'c, 'a>>,
    pub bytes: u64,
    pub block: usize,
    /// The item that makes it.
    pub item: Option<usize>,
    /// Alive from here ...
    pub from: i64,
    /// ... to here.
    pub to: i64,
}

/// A block.
pub struct Part {
    pub parameters: Vec<Id>,
    /// In the order in which they run; the last one ends the block.
    pub items: Vec<usize>,
    /// The loop or branch that it belongs to.
    pub parent: Option<usize>,
    pub from: i64,
    pub to: i64,
}

/// A function.
pub struct Model<'c, 'a> {
    pub items: Vec<Item<'c, 'a>>,
    pub values: Vec<Content<'c, 'a>>,
    pub blocks: Vec<Part>,
    /// Arguments that may be written to.
    pub donated: Vec<bool>,
    pub end: i64,
    known: HashMap<usize, Id>,
}

/// Attributes of kernel functions by name.
struct Contract {
    in_place: Vec<i64>,
    may_share: Vec<i64>,
    pointwise: Vec<i64>,
    scratch: Vec<i64>,
}

impl<'c: 'a, 'a> Model<'c, 'a> {
    /// Reads a function whose ops are calls of `kernels`, loops, branches, constants and reshapes.
    pub fn new(
        function: OperationRef<'c, 'a>,
        kernels: &[OperationRef<'c, 'a>],
    ) -> Result<Self, PassError<'c>> {
        let contracts: HashMap<String, Contract> = kernels
            .iter()
            .filter(|kernel| attribute_of(**kernel, "slimhlo.kernel").is_some())
            .map(|kernel| {
                let numbers = |name| i64_array(*kernel, name).unwrap_or(&[]).to_vec();
                let contract = Contract {
                    in_place: numbers("slimhlo.in_place"),
                    may_share: numbers("slimhlo.may_share"),
                    pointwise: numbers("slimhlo.pointwise"),
                    scratch: numbers("slimhlo.scratch"),
                };
                (name_of(*kernel), contract)
            })
            .collect();
        let mut this = Self {
            items: Vec::new(),
            values: Vec::new(),
            blocks: Vec::new(),
            donated: Vec::new(),
            end: 0,
            known: HashMap::new(),
        };
        let block = function
            .region(0)
            .ok()
            .and_then(|region| region.first_block())
            .ok_or_else(|| PassError::at(function, "has no body"))?;
        this.donated = (0..block.argument_count()).map(|index| is_donated(function, index)).collect();
        this.add_block(block, None, &contracts)?;
        Ok(this)
    }

    fn add_value(
        &mut self,
        value: Option<Value<'c, 'a>>,
        bytes: u64,
        block: usize,
        item: Option<usize>,
    ) -> Id {
        let id = self.values.len();
        if let Some(value) = value {
            self.known.insert(key(value), id);
        }
        self.values.push(Content { value, bytes, block, item, from: 0, to: 0 });
        id
    }

    fn add_block(
        &mut self,
        block: BlockRef<'c, 'a>,
        parent: Option<usize>,
        contracts: &HashMap<String, Contract>,
    ) -> Result<usize, PassError<'c>> {
        let number = self.blocks.len();
        self.blocks.push(Part { parameters: Vec::new(), items: Vec::new(), parent, from: 0, to: 0 });
        for index in 0..block.argument_count() {
            let argument: Value = block.argument(index)?.into();
            let id = self.add_value(Some(argument), size_of(argument).1, number, None);
            self.blocks[number].parameters.push(id);
        }
        let mut next = block.first_operation();
        while let Some(op) = next {
            next = op.next_in_block();
            let kind = match op_name(op) {
                "func.call" => Kind::Call,
                "stablehlo.while" => Kind::While,
                "stablehlo.if" | "stablehlo.case" => Kind::Branch,
                "stablehlo.reshape" => Kind::View,
                "stablehlo.constant" => Kind::Table,
                "func.return" | "stablehlo.return" => Kind::End,
                _ => {
                    return Err(PassError::at(op, "is not what slimhlo-form-kernels leaves; run that first"));
                }
            };
            let operands = op
                .operands()
                .map(|operand| self.known.get(&key(operand)).copied())
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| PassError::at(op, "uses a value that is not of this function"))?;
            let item = self.items.len();
            self.items.push(Item {
                op,
                kind,
                operands,
                results: Vec::new(),
                scratch: Vec::new(),
                in_place: Vec::new(),
                may_share: Vec::new(),
                blocks: Vec::new(),
                block: number,
                from: 0,
                to: 0,
            });
            self.blocks[number].items.push(item);
            for index in 0..op.region_count() {
                if let Some(block) = op.region(index).ok().and_then(|region| region.first_block()) {
                    let block = self.add_block(block, Some(item), contracts)?;
                    self.items[item].blocks.push(block);
                }
            }
            for result in op.results() {
                let value: Value = result.into();
                let id = self.add_value(Some(value), size_of(value).1, number, Some(item));
                self.items[item].results.push(id);
            }
            if kind == Kind::Call {
                let name = callee(op).unwrap_or_default();
                let contract = contracts
                    .get(name)
                    .ok_or_else(|| PassError::at(op, format!("calls @{name}, which is no kernel")))?;
                let operands = op.operand_count();
                let valid = |number: i64| usize::try_from(number).ok().filter(|&number| number < operands);
                let pick = |numbers: &[i64], index: usize| valid(*numbers.get(index)?);
                let results = 0..op.result_count();
                self.items[item].in_place =
                    results.clone().map(|index| pick(&contract.in_place, index)).collect();
                self.items[item].may_share = results
                    .map(|index| {
                        let one = pick(&contract.may_share, index);
                        one.into_iter().chain(contract.pointwise.iter().copied().filter_map(valid)).collect()
                    })
                    .collect();
                for &bytes in &contract.scratch {
                    let bytes = u64::try_from(bytes).unwrap_or(0);
                    let id = self.add_value(None, bytes, number, Some(item));
                    self.items[item].scratch.push(id);
                }
            }
        }
        Ok(number)
    }

    /// A value that a copy makes at `at`, next to an item.
    pub fn add_copy(&mut self, of: Id, block: usize, at: i64, to: i64) -> Id {
        let bytes = self.values[of].bytes;
        self.values.push(Content { value: None, bytes, block, item: None, from: at, to });
        self.values.len() - 1
    }

    /// Says when everything runs, in the order of the blocks' items, and how long values live.
    pub fn number(&mut self) {
        let mut now = STRIDE;
        self.number_block(0, &mut now);
        self.end = now;
        for value in &mut self.values {
            value.to = value.from + 1;
        }
        for item in 0..self.items.len() {
            let operands = self.items[item].operands.clone();
            for operand in operands {
                let at = self.last_need(operand, item);
                let value = &mut self.values[operand];
                value.to = value.to.max(at);
            }
        }
    }

    fn number_block(&mut self, block: usize, now: &mut i64) {
        self.blocks[block].from = *now;
        for parameter in self.blocks[block].parameters.clone() {
            self.values[parameter].from = *now;
        }
        for item in self.blocks[block].items.clone() {
            *now += STRIDE;
            self.items[item].from = *now;
            for block in self.items[item].blocks.clone() {
                *now += STRIDE;
                self.number_block(block, now);
                *now += STRIDE;
            }
            self.items[item].to = *now;
            let made = self.items[item].results.iter().chain(&self.items[item].scratch).copied();
            for value in made.collect::<Vec<_>>() {
                self.values[value].from = *now;
            }
        }
        self.blocks[block].to = *now;
    }

    /// Until when an item needs a value: a loop around the item that is not around the value needs it until it ends.
    fn last_need(&self, value: Id, item: usize) -> i64 {
        let home = self.values[value].block;
        let mut at = self.items[item].from;
        let mut block = self.items[item].block;
        while block != home {
            let Some(parent) = self.blocks[block].parent else { break };
            if self.items[parent].kind == Kind::While {
                at = self.items[parent].to;
            }
            block = self.items[parent].block;
        }
        at
    }
}

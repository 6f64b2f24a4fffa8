// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is read, and sent for that.

use super::super::classes::{Devices, Read};
use super::super::manual::collective_permute;
use super::super::moves::{Box_, Source};
use super::{Body, shape_of};
use crate::ir::element_of;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::ChannelHandle;
use slimhlo_dialect::types::Tensor;

impl<'c: 'a, 'a> Body<'c, 'a, '_> {
    /// Says that parts of inputs will be read: those that lie in or next to one another, and go from the same devices to the
    /// same, are exchanged once.
    pub(super) fn foresee(&mut self, reads: impl IntoIterator<Item = Read>) {
        for mut read in reads {
            if read.is_local() || !matches!(read.source, Source::Input(_)) {
                continue;
            }
            read.from.sort_unstable();
            // What has grown may be joined again.
            while let Some((index, both)) = self
                .foreseen
                .iter()
                .enumerate()
                .find_map(|(index, (other, _))| Some((index, read.joined(other)?)))
            {
                self.foreseen.swap_remove(index);
                read = both;
            }
            self.foreseen.push((read, None));
        }
    }

    /// The part of an array that is read, on the devices that need it.
    pub(super) fn read(&mut self, read: &Read) -> Value<'c, 'a> {
        let mut from = read.from.clone();
        from.sort_unstable();
        let within = |wide: &Read| {
            wide.source == read.source
                && wide.from == from
                && (0..read.start.len()).all(|dim| {
                    wide.start[dim] <= read.start[dim]
                        && read.start[dim] + read.size[dim] <= wide.start[dim] + wide.size[dim]
                })
        };
        let Some(index) = self.foreseen.iter().position(|(wide, _)| within(wide)) else {
            return self.read_now(read);
        };
        let wide = self.foreseen[index].0.clone();
        let value = match self.foreseen[index].1 {
            Some(value) => value,
            None => self.read_now(&wide),
        };
        self.foreseen[index].1 = Some(value);
        let start: Vec<i64> = read.start.iter().zip(&wide.start).map(|(at, from)| at - from).collect();
        self.slice(value, &start, &read.size)
    }

    /// As `read`, whatever is foreseen.
    fn read_now(&mut self, read: &Read) -> Value<'c, 'a> {
        let array = self.array(read);
        let own = self.part(read, array);
        let rounds = read.rounds().expect("checked before anything was made");
        let direct = is_one_to_one(read);
        let mut value = own;
        for pairs in rounds {
            // A device may have got another part before it sends its own.
            let mut owners = Devices::none(self.mesh.grid.devices());
            let mut receivers = owners.clone();
            for &(from, to) in &pairs {
                receivers.insert(to);
                if read.is_owner(from, to) {
                    owners.insert(from);
                }
            }
            let sent = match owners.count() {
                0 => value,
                count if count == pairs.len() => own,
                _ if value == own => own,
                _ => self.select(&owners, own, value),
            };
            let received = self.permute(sent, &pairs);
            if direct {
                return received;
            }
            value = self.select(&receivers, received, value);
        }
        value
    }

    /// The array to read this from.
    pub(super) fn array(&self, read: &Read) -> Value<'c, 'a> {
        match read.source {
            Source::Input(input) => self.inputs[input],
            Source::Version(version) => self.version(version, read),
        }
    }

    /// A version of the array being updated, to read this from: the latest one if it holds the same there.
    fn version(&self, version: usize, read: &Read) -> Value<'c, 'a> {
        let sources = read.sources(self.mesh.grid.devices());
        let overwritten = self.written.iter().any(|written| {
            written.version > version && written.devices.meets(&sources) && reads_from(read, &written.local)
        });
        if overwritten { self.versions[version] } else { self.latest.expect("an update has begun") }
    }

    /// The part of an array that is read, on the devices that it is read from. What is sent is cut out at a place that depends
    /// on the device: a back end that knows the place computes an update of the array again for it, and keeps what was there
    /// before.
    pub(super) fn part(&mut self, read: &Read, array: Value<'c, 'a>) -> Value<'c, 'a> {
        // A row at a known place of what has been updated would have the update computed again for it, from what was there before.
        let updated = matches!(read.source, Source::Version(_)) && !self.written.is_empty();
        let is_row = || shape_of(array).iter().zip(&read.size).any(|(&all, &part)| part == 1 && all > 1);
        if shape_of(array) == read.size || read.is_local() && !(updated && is_row()) {
            return self.slice(array, &read.start, &read.size);
        }
        let sources = read.sources(self.mesh.grid.devices());
        let starts = self.starts_on(&sources, array, &read.start, &read.size);
        let ty = Tensor::get(&read.size, element_of(array.r#type()), None);
        self.build.dynamic_slice(array, &starts, ty, self.location)
    }

    /// Where a part of this size of `array` starts: at `start` on the devices of a set, somewhere else on the others.
    pub(super) fn starts_on(
        &mut self,
        devices: &Devices,
        array: Value<'c, 'a>,
        start: &[i64],
        size: &[i64],
    ) -> Vec<Value<'c, 'a>> {
        let free: Vec<i64> = shape_of(array).iter().zip(size).map(|(all, part)| all - part).collect();
        let moving = free.iter().position(|&free| free > 0);
        (0..start.len())
            .map(|dim| {
                if moving != Some(dim) {
                    return self.start(start[dim]);
                }
                let other = if start[dim] == 0 { free[dim] } else { 0 };
                let all = self.mesh.grid.devices();
                let mut numbers: Vec<i64> = (0..all)
                    .map(|device| if devices.contains(device) { start[dim] } else { other })
                    .collect();
                // The last number would be that of no device: a table of one number would be seen through.
                if devices.count() == all {
                    numbers.push(other);
                }
                self.tabled(numbers)
            })
            .collect()
    }

    /// Starts per dimension, looked up in a table where they are not the same on all devices.
    pub(super) fn starts_by_device(&mut self, place: impl Fn(usize) -> Vec<i64>) -> Vec<Value<'c, 'a>> {
        let places: Vec<Vec<i64>> = (0..self.mesh.grid.devices()).map(place).collect();
        (0..places[0].len())
            .map(|dim| {
                let starts: Vec<i64> = places.iter().map(|place| place[dim]).collect();
                match starts.iter().all(|at| *at == starts[0]) {
                    true => self.start(starts[0]),
                    false => self.tabled(starts),
                }
            })
            .collect()
    }

    pub(super) fn permute(&mut self, value: Value<'c, 'a>, pairs: &[(usize, usize)]) -> Value<'c, 'a> {
        self.exchanges += 1;
        let elements: i64 = shape_of(value).iter().product();
        self.received = self.received.saturating_add(elements);
        self.widest = self.widest.max(elements);
        collective_permute(self.build, self.channel, (value, pairs), self.location)
    }
}

/// Whether each device that needs it gets it by the one exchange there is.
pub(super) fn is_one_to_one(read: &Read) -> bool {
    let mut sources: Vec<usize> = read.from.iter().map(|(_, from)| *from).collect();
    sources.sort_unstable();
    !read.is_local() && sources.windows(2).all(|pair| pair[0] != pair[1])
}

/// Whether a part that is read meets a box of the shard.
pub(super) fn reads_from(read: &Read, window: &Box_) -> bool {
    let parts = read.start.iter().zip(&read.size);
    window.iter().zip(parts).all(|((low, high), (start, size))| *low < start + size && start < high)
}

/// The number after all channels in use below `root`.
pub fn next_channel<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> i64 {
    let mut next = 1;
    crate::rewrite::walk(root, |op| {
        if op_name(op).starts_with("stablehlo.")
            && let Some(handle) = ffi::attribute_of(op, "channel_handle")
            && let Ok(handle) = ChannelHandle::try_from(handle)
        {
            next = next.max(handle.handle().saturating_add(1));
        }
        melior::ir::operation::WalkResult::Advance
    });
    next
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Packs memory that is in use at known times into as little as possible.

use super::assign::{Place, alignment, overlaps};
use std::collections::HashMap;

/// Memory that is needed.
#[derive(Clone, Debug)]
pub struct Request {
    /// Whose it is.
    pub class: usize,
    /// How much, aligned.
    pub bytes: u64,
    /// How much, not aligned.
    pub exact: u64,
    /// When, in order.
    pub busy: Vec<(i64, i64)>,
}

/// Memory that is there anyway: where, how much, and when it is in use, in order.
pub type Fixed = (Place, u64, Vec<(i64, i64)>);

/// More than this are packed by their place in time only.
const MOST: usize = 6000;
/// Fixed places that are tried for one request.
const MOST_FIXED: usize = 64;

/// Finds a place for each request: in memory that is there anyway (`fixed`: results before they are made, donated arguments after
/// they have been read), else in the arena. Gives the arena's size, too.
pub fn pack(mut requests: Vec<Request>, mut fixed: Vec<Fixed>) -> (HashMap<usize, Place>, u64) {
    let mut places = HashMap::new();
    requests.sort_by_key(|request| (std::cmp::Reverse(request.bytes), request.busy.first().copied()));
    // The smallest that is large enough.
    fixed.sort_by_key(|&(_, bytes, _)| bytes);
    let mut left = Vec::with_capacity(requests.len());
    for request in requests {
        let first = fixed.partition_point(|&(_, bytes, _)| bytes < request.exact);
        let found = fixed[first..]
            .iter_mut()
            .take(MOST_FIXED)
            .find(|(_, _, busy)| !overlaps(busy, &request.busy, &[]));
        match found {
            Some((place, _, busy)) => {
                busy.extend(&request.busy);
                busy.sort_unstable();
                places.insert(request.class, *place);
            }
            None => left.push(request),
        }
    }
    let span = |request: &Request| {
        request.busy.last().map_or(0, |last| last.1) - request.busy.first().map_or(0, |first| first.0)
    };
    let mut orders: Vec<Vec<usize>> = vec![(0..left.len()).collect()];
    if left.len() <= MOST {
        let mut by_area: Vec<usize> = (0..left.len()).collect();
        by_area.sort_by_key(|&index| {
            std::cmp::Reverse(
                u128::from(left[index].bytes) * u128::from(span(&left[index]).unsigned_abs() + 1),
            )
        });
        orders.push(by_area);
        let mut by_span: Vec<usize> = (0..left.len()).collect();
        by_span.sort_by_key(|&index| {
            (std::cmp::Reverse(span(&left[index])), std::cmp::Reverse(left[index].bytes))
        });
        orders.push(by_span);
        let mut by_time: Vec<usize> = (0..left.len()).collect();
        by_time.sort_by_key(|&index| left[index].busy.first().copied());
        orders.push(by_time);
    }
    let bound = most_alive(&left);
    let mut best: Option<(Vec<u64>, u64)> = None;
    for order in orders {
        let (offsets, height) = place(&left, &order);
        if best.as_ref().is_none_or(|(_, least)| height < *least) {
            best = Some((offsets, height));
        }
        if height <= bound {
            break;
        }
    }
    let (offsets, height) = best.unwrap_or_default();
    for (request, offset) in left.iter().zip(offsets) {
        places.insert(request.class, Place::Arena(offset));
    }
    (places, height)
}

/// Bytes that are in use at once, at most.
fn most_alive(requests: &[Request]) -> u64 {
    let mut events: Vec<(i64, i128)> = requests
        .iter()
        .flat_map(|request| {
            let bytes = i128::from(request.bytes);
            request.busy.iter().flat_map(move |&(from, to)| [(from, bytes), (to + 1, -bytes)])
        })
        .collect();
    events.sort_unstable();
    let (mut now, mut most) = (0i128, 0i128);
    for (_, bytes) in events {
        now += bytes;
        most = most.max(now);
    }
    u64::try_from(most).unwrap_or(u64::MAX)
}

/// Places requests one by one, each in the smallest gap that is free whenever it is needed.
fn place(requests: &[Request], order: &[usize]) -> (Vec<u64>, u64) {
    let mut offsets = vec![0u64; requests.len()];
    let mut height = 0u64;
    let mut placed: Vec<usize> = Vec::with_capacity(order.len());
    let mut taken: Vec<(u64, u64)> = Vec::new();
    for (number, &index) in order.iter().enumerate() {
        let request = &requests[index];
        if number >= MOST {
            // Too many to look at all of them: on top.
            offsets[index] = height.next_multiple_of(alignment(request.exact));
            height = offsets[index] + request.bytes;
            continue;
        }
        taken.clear();
        taken.extend(
            placed
                .iter()
                .filter(|&&other| overlaps(&requests[other].busy, &request.busy, &[]))
                .map(|&other| (offsets[other], offsets[other] + requests[other].bytes)),
        );
        taken.sort_unstable();
        let mut best: Option<(u64, u64)> = None;
        let mut top = 0u64;
        let step = alignment(request.exact);
        for &(low, high) in &taken {
            if low > top && low - top >= request.bytes && best.is_none_or(|(gap, _)| low - top < gap) {
                best = Some((low - top, top));
            }
            top = top.max(high.next_multiple_of(step));
        }
        let offset = best.map_or(top, |(_, low)| low);
        offsets[index] = offset;
        height = height.max(offset + request.bytes);
        placed.push(index);
    }
    (offsets, height)
}

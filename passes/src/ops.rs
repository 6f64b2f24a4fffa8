// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What StableHLO's ops are, for all passes alike; back ends have their say in [`crate::target`].

pub mod access;
pub mod class;
pub mod columns;
pub mod joined;
pub mod loops;
pub mod products;
pub mod reducers;
pub mod related;
pub mod updates;
pub mod written;

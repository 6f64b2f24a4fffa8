// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Lists of dimensions, as dimension number attributes have them: in range, distinct, in order, all in linear or
//! sorting time.

use crate::view::{OpError, Verdict};
use crate::{reject, require};

/// A list of dimensions with the name that diagnostics call it by.
pub type Named<'a> = (&'a str, &'a [i64]);

/// Every entry is a dimension of something of this rank.
pub fn in_range((name, list): Named<'_>, rank: usize, of: &str) -> Verdict {
    for (index, &dimension) in list.iter().enumerate() {
        require!(
            is_dimension(dimension, rank),
            "{name}[{index}] = {dimension} is not a dimension of {of}, which has rank {rank}"
        );
    }
    Ok(())
}

/// One number is a dimension of something of this rank.
pub fn one_in_range(name: &str, dimension: i64, rank: usize, of: &str) -> Result<usize, OpError> {
    require!(
        is_dimension(dimension, rank),
        "{name} = {dimension} is not a dimension of {of}, which has rank {rank}"
    );
    Ok(dimension as usize)
}

fn is_dimension(dimension: i64, rank: usize) -> bool {
    usize::try_from(dimension).is_ok_and(|dimension| dimension < rank)
}

/// No dimension comes twice in the lists taken together.
pub fn distinct(lists: &[Named<'_>]) -> Verdict {
    let mut all: Vec<(i64, usize, usize)> = Vec::new();
    for (number, (_, list)) in lists.iter().enumerate() {
        all.extend(list.iter().enumerate().map(|(index, &dimension)| (dimension, number, index)));
    }
    all.sort_unstable();
    for pair in all.windows(2) {
        let ((first, list, index), (second, other_list, other_index)) = (pair[0], pair[1]);
        require!(
            first != second,
            "{}[{index}] and {}[{other_index}] are both {first}",
            lists[list].0,
            lists[other_list].0
        );
    }
    Ok(())
}

/// Entries do not fall.
pub fn sorted((name, list): Named<'_>) -> Verdict {
    for (index, pair) in list.windows(2).enumerate() {
        require!(
            pair[0] <= pair[1],
            "{name} must be in order, but {name}[{index}] = {} exceeds {name}[{}] = {}",
            pair[0],
            index + 1,
            pair[1]
        );
    }
    Ok(())
}

/// Two lists are paired up entry by entry, so they are equally long.
pub fn same_length((name, list): Named<'_>, (other_name, other): Named<'_>) -> Verdict {
    if list.len() != other.len() {
        reject!("{name} has {} entries, but {other_name} has {}", list.len(), other.len());
    }
    Ok(())
}

/// The dimensions of something of this rank that none of the lists has, in order. Entries out of range are ignored.
pub fn others(rank: usize, lists: &[&[i64]]) -> Vec<usize> {
    let mut taken = vec![false; rank];
    for &dimension in lists.iter().copied().flatten() {
        if let Some(taken) = usize::try_from(dimension).ok().and_then(|dimension| taken.get_mut(dimension)) {
            *taken = true;
        }
    }
    (0..rank).filter(|&dimension| !taken[dimension]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_found_across_lists() {
        assert!(distinct(&[("a", &[3, 1]), ("b", &[2, 0])]).is_ok());
        let error = distinct(&[("a", &[3, 1]), ("b", &[2, 1])]).unwrap_err();
        assert_eq!(error.0, "a[1] and b[1] are both 1");
    }

    #[test]
    fn others_are_what_no_list_has() {
        assert_eq!(others(5, &[&[3], &[0, 9, -1]]), [1, 2, 4]);
    }
}

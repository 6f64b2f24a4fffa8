// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Tile assignments in the words of HLO, and the grids of devices that they are made of.

/// How many devices are gone through one by one.
const DEVICES: i64 = 4096;
/// In how many orders the prime factors of the number of devices are tried.
const ORDERS: usize = 64;

/// Which device has which tile of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Tiles along each dimension; devices that have the same, if there are several, along one more.
    counts: Vec<usize>,
    /// In row-major order.
    devices: Vec<i64>,
    is_partial: bool,
}

impl Assignment {
    /// `{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}`, or with all devices one by one; `Some(None)` for `{replicated}`, `None` for
    /// what is neither, or for another number of devices.
    pub fn parse(text: &str, devices: i64) -> Option<Option<Self>> {
        let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        if inner == "replicated" {
            return Some(None);
        }
        let (counts, rest) = inner.strip_prefix("devices=[")?.split_once(']')?;
        let counts: Vec<usize> =
            numbers(counts)?.into_iter().map(|count| usize::try_from(count).ok()).collect::<Option<_>>()?;
        let (order, more) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_partial = match more.trim() {
            "" => false,
            "last_tile_dim_replicate" | "last_tile_dims={replicated}" => true,
            _ => return None,
        };
        let order = match order.strip_prefix("<=[") {
            Some(iota) => counted(iota, devices)?,
            None => numbers(order)?,
        };
        let tiles = counts.iter().try_fold(1usize, |all, count| all.checked_mul(*count))?;
        let is_all = order.len() == tiles && i64::try_from(tiles) == Ok(devices) && tiles > 0;
        is_all.then_some(Some(Self { counts, devices: order, is_partial }))
    }
}

/// `2,2]T(1,0)`: devices as they count up along some dimensions, which are then put in another order.
fn counted(text: &str, devices: i64) -> Option<Vec<i64>> {
    let (sizes, order) = text.split_once(']')?;
    let sizes = numbers(sizes)?;
    let all = sizes.iter().try_fold(1i64, |all, size| all.checked_mul(*size).filter(|all| *all > 0))?;
    (all == devices && devices <= DEVICES).then_some(())?;
    let order: Vec<usize> = match order {
        "" => (0..sizes.len()).collect(),
        order => numbers(order.strip_prefix("T(")?.strip_suffix(')')?)?
            .into_iter()
            .map(|dim| usize::try_from(dim).ok())
            .collect::<Option<_>>()?,
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    (sorted.iter().copied().eq(0..sizes.len())).then_some(())?;
    let strides = strides(&sizes);
    let mut made = vec![0];
    for dim in order {
        made = made
            .iter()
            .flat_map(|from| (0..sizes[dim]).map(move |at| (from, at)))
            .map(|(from, at)| from + at * strides[dim])
            .collect();
    }
    Some(made)
}

fn numbers(text: &str) -> Option<Vec<i64>> {
    text.split(',').map(|number| number.trim().parse().ok()).collect()
}

/// How far apart neighbours along each dimension are, in row-major order.
fn strides(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; sizes.len()];
    for dim in (1..sizes.len()).rev() {
        strides[dim - 1] = strides[dim] * sizes[dim];
    }
    strides
}

/// Devices that count up along axes of prime sizes, major to minor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    sizes: Vec<i64>,
    strides: Vec<i64>,
}

impl Grid {
    /// The first grid that all assignments are made of.
    pub fn of(assignments: &[Assignment], devices: i64) -> Option<Self> {
        (devices <= DEVICES).then_some(())?;
        let mut distinct: Vec<&Assignment> = Vec::new();
        for assignment in assignments {
            if !distinct.contains(&assignment) {
                distinct.push(assignment);
            }
        }
        let mut orders = Vec::new();
        arranged(&mut primes(devices), &mut Vec::new(), &mut orders);
        orders
            .into_iter()
            .map(|sizes| Self { strides: strides(&sizes), sizes })
            .find(|grid| distinct.iter().all(|assignment| grid.axes_of(assignment).is_some()))
    }

    /// Devices along each axis.
    pub fn sizes(&self) -> &[i64] {
        &self.sizes
    }

    /// All devices.
    pub fn devices(&self) -> i64 {
        self.sizes.iter().product()
    }

    /// The axes that cut each dimension, major to minor; `None` if these are not whole ones.
    pub fn axes_of(&self, assignment: &Assignment) -> Option<Vec<Vec<usize>>> {
        let mut dims = Vec::with_capacity(assignment.counts.len());
        let mut step = assignment.devices.len();
        for &count in &assignment.counts {
            step /= count;
            let mut axes = Vec::new();
            let mut done = 1;
            while done < count {
                let stride = assignment.devices[done * step] - assignment.devices[0];
                let axis = self.strides.iter().rposition(|own| *own == stride)?;
                axes.push(axis);
                done *= usize::try_from(self.sizes[axis]).ok()?;
                (count % done == 0).then_some(())?;
            }
            axes.reverse();
            dims.push(axes);
        }
        // Tiles count up along the axes: the minor ones first.
        let mut made = vec![0];
        for &axis in dims.iter().flatten() {
            let steps = || (0..self.sizes[axis]).map(|at| at * self.strides[axis]);
            made = made.iter().flat_map(|from: &i64| steps().map(move |by| from + by)).collect();
        }
        (made == assignment.devices).then_some(())?;
        if assignment.is_partial {
            dims.pop();
        }
        Some(dims)
    }
}

fn primes(mut number: i64) -> Vec<i64> {
    let mut all = Vec::new();
    let mut prime = 2;
    while number > 1 {
        while number % prime == 0 {
            all.push(prime);
            number /= prime;
        }
        prime += 1;
    }
    all
}

/// Adds the orders in which what is left may follow what is taken.
fn arranged(left: &mut Vec<i64>, taken: &mut Vec<i64>, orders: &mut Vec<Vec<i64>>) {
    if left.is_empty() {
        orders.push(taken.clone());
    }
    for at in 0..left.len() {
        if orders.len() >= ORDERS || left[..at].contains(&left[at]) {
            continue;
        }
        taken.push(left.remove(at));
        arranged(left, taken, orders);
        left.insert(at, taken.pop().expect("just pushed"));
    }
}

/// The assignment by which these axes of a grid cut the dimensions of an array.
pub fn written(dims: &[Vec<usize>], sizes: &[i64]) -> String {
    let used: Vec<usize> = dims.iter().flatten().copied().collect();
    if used.is_empty() {
        return "{replicated}".to_owned();
    }
    let rest: Vec<usize> = (0..sizes.len()).filter(|axis| !used.contains(axis)).collect();
    let of = |axes: &[usize]| axes.iter().map(|&axis| sizes[axis]).product::<i64>();
    let mut counts: Vec<i64> = dims.iter().map(|axes| of(axes)).collect();
    let is_partial = !rest.is_empty();
    if is_partial {
        counts.push(of(&rest));
    }
    let order: Vec<usize> = used.iter().chain(&rest).copied().collect();
    let listed = |numbers: &mut dyn Iterator<Item = String>| numbers.collect::<Vec<_>>().join(",");
    let devices = match order.is_sorted() {
        true => format!("[{}]", sizes.iter().product::<i64>()),
        false => format!(
            "[{}]T({})",
            listed(&mut sizes.iter().map(i64::to_string)),
            listed(&mut order.iter().map(usize::to_string))
        ),
    };
    let counts = listed(&mut counts.iter().map(i64::to_string));
    let partial = if is_partial { " last_tile_dim_replicate" } else { "" };
    format!("{{devices=[{counts}]<={devices}{partial}}}")
}

//! Grids. Ranks are numbered in row-major order: the last coordinate changes fastest.

/// A Cartesian topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cartesian {
    /// How many ranks there are in each dimension, each at least 1. May be empty: one rank, no dimension.
    pub dimensions: Vec<u32>,
    /// Whether the grid is periodic in each dimension.
    pub periods: Vec<bool>,
}

impl Cartesian {
    /// Returns the number of ranks, or `None` if it exceeds 32 bits.
    pub fn size(&self) -> Option<u32> {
        self.dimensions.iter().try_fold(1u32, |product, &n| product.checked_mul(n))
    }

    /// Returns the coordinates of a rank of the grid.
    pub fn coordinates(&self, rank: u32) -> Vec<u32> {
        let mut rest = rank;
        let mut coordinates = vec![0; self.dimensions.len()];
        for (coordinate, &n) in coordinates.iter_mut().zip(&self.dimensions).rev() {
            *coordinate = rest % n;
            rest /= n;
        }
        coordinates
    }

    /// Returns the rank at the coordinates, wrapped around in periodic dimensions.
    ///
    /// # Errors
    /// The number of the first dimension that is not periodic and whose coordinate lies outside.
    pub fn rank(&self, coordinates: &[i64]) -> Result<u32, usize> {
        let mut rank = 0;
        for (dimension, &coordinate) in coordinates.iter().enumerate().take(self.dimensions.len()) {
            let n = self.dimensions[dimension];
            let inside = (0..i64::from(n)).contains(&coordinate);
            if !inside && !self.periods[dimension] {
                return Err(dimension);
            }
            rank = rank * n + coordinate.rem_euclid(i64::from(n)) as u32;
        }
        Ok(rank)
    }

    /// Returns who lies `displacement` steps from `rank` along a dimension; `None` beyond the edge of the grid.
    pub fn shifted(&self, rank: u32, dimension: usize, displacement: i64) -> Option<u32> {
        let mut coordinates: Vec<i64> = self.coordinates(rank).into_iter().map(i64::from).collect();
        coordinates[dimension] += displacement;
        self.rank(&coordinates).ok()
    }

    /// Returns the neighbors of `rank`: for each dimension the one below, then the one above.
    pub fn neighbors(&self, rank: u32) -> Vec<Option<u32>> {
        (0..self.dimensions.len())
            .flat_map(|dimension| [-1, 1].map(|step| self.shifted(rank, dimension, step)))
            .collect()
    }

    /// Returns the grid of the dimensions that `remain`, and for `rank` which of the parallel grids it is in and its
    /// rank there.
    pub fn subgrid(&self, remain: &[bool], rank: u32) -> (Self, u32, u32) {
        let (mut color, mut position) = (0, 0);
        for (dimension, coordinate) in self.coordinates(rank).into_iter().enumerate() {
            let place = if remain[dimension] { &mut position } else { &mut color };
            *place = *place * self.dimensions[dimension] + coordinate;
        }
        let kept = |dimension: &usize| remain[*dimension];
        let grid = Self {
            dimensions: (0..remain.len()).filter(kept).map(|d| self.dimensions[d]).collect(),
            periods: (0..remain.len()).filter(kept).map(|d| self.periods[d]).collect(),
        };
        (grid, color, position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Cartesian {
        Cartesian { dimensions: vec![2, 3, 4], periods: vec![true, false, true] }
    }

    #[test]
    fn ranks_and_coordinates_are_inverse() {
        let grid = grid();
        assert_eq!(grid.size(), Some(24));
        for rank in 0..24 {
            let coordinates: Vec<i64> = grid.coordinates(rank).into_iter().map(i64::from).collect();
            assert_eq!(grid.rank(&coordinates), Ok(rank));
        }
        assert_eq!(grid.coordinates(23), [1, 2, 3]);
        assert_eq!(grid.coordinates(4), [0, 1, 0]);
    }

    #[test]
    fn periodic_dimensions_wrap_and_others_end() {
        let grid = grid();
        assert_eq!(grid.rank(&[-1, 0, 9]), grid.rank(&[1, 0, 1]));
        assert_eq!(grid.rank(&[0, 3, 0]), Err(1));
        assert_eq!(grid.rank(&[0, -1, 0]), Err(1));
        assert_eq!(grid.shifted(0, 2, -1), Some(3));
        assert_eq!(grid.shifted(0, 1, -1), None);
        assert_eq!(grid.shifted(0, 1, 2), Some(8));
        assert_eq!(grid.shifted(0, 0, i64::from(i32::MIN)), Some(0));
        assert_eq!(grid.neighbors(5), [Some(17), Some(17), Some(1), Some(9), Some(4), Some(6)]);
    }

    #[test]
    fn subgrids_cover_the_grid() {
        let grid = grid();
        let mut seen = std::collections::HashSet::new();
        for rank in 0..24 {
            let (part, color, position) = grid.subgrid(&[true, false, true], rank);
            assert_eq!((part.dimensions, part.periods), (vec![2, 4], vec![true, true]));
            assert!(color < 3 && position < 8 && seen.insert((color, position)));
        }
        let (none, color, position) = grid.subgrid(&[false; 3], 13);
        assert_eq!((none.size(), color, position), (Some(1), 13, 0));
    }

    #[test]
    fn an_empty_grid_has_one_rank() {
        let grid = Cartesian { dimensions: vec![], periods: vec![] };
        assert_eq!((grid.size(), grid.rank(&[]), grid.neighbors(0)), (Some(1), Ok(0), vec![]));
        let huge = Cartesian { dimensions: vec![1 << 20; 2], periods: vec![false; 2] };
        assert_eq!(huge.size(), None);
    }
}

//! High and low water: whether a harbour is deep enough for a ship at a given hour.

/// Depths in centimetres above the harbour's own zero, hour by hour.
pub struct TideTable {
    depths_cm: Vec<i32>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum TideError {
    /// The table does not reach that far.
    BeyondTable { hour: usize },
}

impl TideTable {
    pub fn new(depths_cm: Vec<i32>) -> Self {
        Self { depths_cm }
    }

    pub fn depth_at(&self, hour: usize) -> Result<i32, TideError> {
        self.depths_cm.get(hour).copied().ok_or(TideError::BeyondTable { hour })
    }

    /// The first hour from `hour` on with at least this depth.
    pub fn next_high_water(&self, hour: usize, depth_cm: i32) -> Option<usize> {
        (hour..self.depths_cm.len()).find(|&at| self.depths_cm[at] >= depth_cm)
    }
}

/// A ship needs its draught and half a metre of water below the keel.
pub fn is_navigable(table: &TideTable, hour: usize, draught_cm: i32) -> Result<bool, TideError> {
    Ok(table.depth_at(hour)? >= draught_cm + 50)
}

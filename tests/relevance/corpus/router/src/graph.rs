//! The network of harbours and Dijkstra's algorithm over it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

pub type Harbour = String;

/// A direct connection and how many minutes it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leg {
    pub to: Harbour,
    pub minutes: u32,
}

#[derive(Debug, Default)]
pub struct Network {
    legs: HashMap<Harbour, Vec<Leg>>,
}

impl Network {
    pub fn connect(&mut self, from: &str, to: &str, minutes: u32) {
        self.legs.entry(from.into()).or_default().push(Leg { to: to.into(), minutes });
        self.legs.entry(to.into()).or_default().push(Leg { to: from.into(), minutes });
    }

    pub fn legs_from(&self, harbour: &str) -> &[Leg] {
        self.legs.get(harbour).map_or(&[], Vec::as_slice)
    }
}

/// The fastest way between two harbours and its minutes, `None` when there is none.
pub fn shortest_route(network: &Network, from: &str, to: &str) -> Option<(u32, Vec<Harbour>)> {
    let mut best: HashMap<Harbour, u32> = HashMap::new();
    let mut heap = BinaryHeap::from([(Reverse(0), from.to_string(), vec![from.to_string()])]);
    while let Some((Reverse(minutes), harbour, path)) = heap.pop() {
        if harbour == to {
            return Some((minutes, path));
        }
        if best.get(&harbour).is_some_and(|&known| known <= minutes) {
            continue;
        }
        best.insert(harbour.clone(), minutes);
        for leg in network.legs_from(&harbour) {
            let mut further = path.clone();
            further.push(leg.to.clone());
            heap.push((Reverse(minutes + leg.minutes), leg.to.clone(), further));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detour_can_be_faster() {
        let mut network = Network::default();
        network.connect("Havnby", "Sild", 90);
        network.connect("Havnby", "Föhr", 30);
        network.connect("Föhr", "Sild", 40);
        assert_eq!(shortest_route(&network, "Havnby", "Sild").unwrap().0, 70);
    }
}

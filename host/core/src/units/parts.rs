//! Parts of one device: which two may be given although they have it in common.

use crate::units::GrantedNode;
use devgate_policy::Partitions;
use std::collections::BTreeMap;

/// The most units that are parts of one device: each of them is compared with each.
pub(crate) const MAX_PARTS: usize = 64;
/// The most exclusive nodes of one part, for the same reason.
pub(crate) const MAX_PART_NODES: usize = 16;

/// The exclusive nodes of a unit that is a part of a device, each known as `N`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part<N>(BTreeMap<N, Role>);

/// What a node is to a part that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Role {
    /// Whether it tells the part from others.
    pub(crate) own: bool,
    /// Whether other parts may have it as well.
    pub(crate) common: bool,
}

impl Role {
    /// As the policy says. A container that opens an iommu group reaches all that is in it, so no other one does.
    pub(crate) fn of(node: &GrantedNode, partitions: &Partitions) -> Self {
        let path = &node.node.path;
        Self { own: partitions.is_own(path), common: node.group.is_none() && partitions.is_common(path) }
    }
}

impl<N: Ord> Part<N> {
    /// A unit with these exclusive nodes; none where it has no own one, so that it is a whole.
    pub(crate) fn new(nodes: impl IntoIterator<Item = (N, Role)>) -> Option<Self> {
        let mut part = BTreeMap::<N, Role>::new();
        for (node, role) in nodes {
            let known = part.entry(node).or_insert(role);
            // One node under two paths, of which only one is common.
            (known.own, known.common) = (known.own || role.own, known.common && role.common);
        }
        part.values().any(|role| role.own).then_some(Self(part))
    }

    /// How many nodes it has for itself.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether both may be given, of one plugin: they have only common nodes in common, and each an own one that the other has
    /// not. Who has no more than a part has that part, or the whole.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let has_own = |one: &Self, two: &Self| one.0.iter().any(|(node, role)| role.own && !two.0.contains_key(node));
        let mut both = self.0.iter().filter_map(|(node, role)| Some((role, other.0.get(node)?)));
        both.all(|(one, two)| one.common && two.common) && has_own(self, other) && has_own(other, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(nodes: &[(u32, bool, bool)]) -> Option<Part<u32>> {
        Part::new(nodes.iter().map(|(n, own, common)| {
            let role = Role { own: *own, common: *common };
            (*n, role)
        }))
    }

    #[test]
    fn parts_have_only_common_nodes_in_common_and_an_own_one_each() {
        let beside = |a: &[(u32, bool, bool)], b: &[(u32, bool, bool)]| {
            let (a, b) = (part(a).unwrap(), part(b).unwrap());
            assert_eq!(a.is_beside(&b), b.is_beside(&a));
            a.is_beside(&b)
        };
        let device = (0, false, true);
        assert!(beside(&[device, (1, true, false)], &[device, (2, true, false)]));
        // A node that is one's own and may be common: each still needs another one.
        let both = (1, true, true);
        assert!(beside(&[device, both, (2, true, true)], &[device, both, (3, true, true)]));
        assert!(!beside(&[device, both], &[device, both, (3, true, true)]));
        assert!(!beside(&[device, both], &[device, both]));
        // What is common to one alone is not.
        assert!(!beside(&[device, (1, true, false)], &[(0, false, false), (2, true, false)]));
        // A further node that is not its own makes no part of a whole.
        assert_eq!(part(&[device, (9, false, false)]), None);
        assert!(!beside(&[device, (1, true, true), (9, false, false)], &[device, (1, true, true), (2, true, false)]));
        // One node under two paths.
        assert!(!beside(&[device, (0, false, false), (1, true, false)], &[device, (2, true, false)]));
    }
}

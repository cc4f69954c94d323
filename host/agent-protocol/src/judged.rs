//! How a host is, by its own judgement. All texts are for people, and escaped.

use serde::{Deserialize, Serialize};

/// All that an admin should know, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Judged {
    /// In one line.
    pub summary: String,
    /// What is not as it should be.
    pub conditions: Vec<Holds>,
    /// Devices that go to no new pod, [`Self::MOST`] of them at most.
    pub devices: Vec<Unhealthy>,
    /// How many more there are.
    pub more: usize,
}

impl Judged {
    /// The most devices that are named.
    pub const MOST: usize = 512;
    /// The most users of one that are named, so that all of it is a message.
    pub const MOST_USERS: usize = 8;
    /// The condition that [`Self::devices`] says more of.
    pub const DEVICES: &'static str = "devices-unhealthy";
}

/// A condition that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Holds {
    /// Which, such as `plugin-quarantined`.
    pub condition: String,
    /// Whose it is, such as `plugin gpus`.
    pub of: String,
    /// Why.
    pub why: String,
    /// Whether every start has it for a while, so that it is nothing to tell at once.
    pub starting: bool,
}

/// A device that goes to no new pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Unhealthy {
    /// What pods ask for.
    pub resource: String,
    /// Which.
    pub id: String,
    /// Why.
    pub why: String,
    /// Who has it.
    pub users: Vec<User>,
}

/// Who has a device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum User {
    /// A pod that was given it by the device plugin.
    Pod {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its uid, where the kubelet's record has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uid: Option<String>,
    },
    /// A claim, which says itself what pods have it.
    Claim {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
    },
}

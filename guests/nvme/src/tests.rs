//! The component natively, through the plugin layer of a real host, on a recorded storage server.

use super::Nvme;
use devgate_testing::{Change, Rig, Survey, Verdict};

const POLICY: &str = include_str!("../policy.yaml");
const NODE: &str = include_str!("../nodes/storage.umockdev");
const DISKS: &str = "devgate.dev/nvme";
const FIRST: &str = "0000:41:00.0-n1";

fn rig() -> Rig {
    Rig::of::<Nvme>(POLICY, "nvme", NODE)
}

/// With other words under `config`.
fn configured(config: &str) -> Rig {
    let policy = POLICY.replace("      min-size: 100GB", &format!("      {config}"));
    assert_ne!(policy, POLICY);
    Rig::of::<Nvme>(&policy, "nvme", NODE)
}

/// Nothing was refused to the component, and nothing of its answer.
fn clean(survey: &Survey) {
    assert!(survey.rejected.is_empty() && survey.denied.is_empty(), "{survey}");
}

#[test]
fn idle_disks_are_offered_and_the_others_explained() {
    let survey = rig().survey();
    clean(&survey);
    assert_eq!(
        survey.ids(DISKS),
        [
            FIRST,
            "0000:42:00.0-n1",
            "0000:c2:00.0-n1",
            "0000:c2:00.0-n2",
            "eui.36345330524000030025385300000003",
            "eui.8ce38ee20000000500000000000000a1",
        ]
    );
    assert_eq!(survey.unread, ["nvme0n1"]);
    assert!(survey.has_said("nvme0n1 is not offered now: the host gives no node of it"));
    assert!(survey.has_said("nvme7n1 is not offered: nvme7 is connected over tcp (config transport)"));
    let disk = survey.unit(FIRST);
    assert_eq!(disk.nodes, ["/dev/nvme1n1 rw"]);
    let expected = [
        ("block-size", "512"),
        ("controller", "nvme1"),
        ("firmware", "GDC5902Q"),
        ("model", "SAMSUNG MZQL23T8HCLS-00A07"),
        ("name", "nvme1n1"),
        ("node", "/dev/nvme1n1"),
        ("nsid", "1"),
        ("numa", "0"),
        ("pci", "0000:41:00.0"),
        ("rotational", "0"),
        ("size", "3840755982336"),
        ("transport", "pcie"),
    ];
    let properties: Vec<_> = disk.properties.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(properties, expected);
}

/// A disk beneath its subsystem is near its only path where no other one can come; else it is near nothing.
#[test]
fn a_disk_is_where_its_only_path_is() {
    let survey = rig().survey();
    let one = survey.unit("eui.36345330524000030025385300000003");
    assert_eq!((one.backing.len(), one.numa_nodes.len()), (1, 0));
    let survey = configured("ports: one").survey();
    let one = survey.unit("0000:c1:00.0-n1");
    assert_eq!((one.backing.len(), one.numa_nodes.iter().next()), (2, Some(&1)));
    let several = survey.unit("eui.8ce38ee20000000500000000000000a1");
    assert_eq!((several.backing.as_slice(), several.numa_nodes.len()), (&["nvme5n1".to_owned()][..], 0));
    assert_eq!(several.property("controller"), Some("nvme5 nvme6"));
}

#[test]
fn a_disk_that_is_mounted_meanwhile_is_not_given() {
    let mut rig = rig();
    rig.allocate(DISKS, &[FIRST]).unwrap();
    let mounts = "22 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n26 22 259:8 / /srv rw - xfs /dev/nvme1n1 rw\n";
    rig.file("/proc/1/mountinfo", mounts);
    assert!(rig.allocate(DISKS, &[FIRST]).is_err(), "the host looks by itself");
    let survey = rig.survey();
    let why = survey.unit(FIRST).unhealthy.as_deref().unwrap();
    assert!(why.contains("this machine uses it"), "{why}");
}

/// Of a drive that may have several ports one goes and comes while a pod has its disk, which is the same disk all the time.
#[test]
fn a_disk_is_the_same_whatever_leads_to_it() {
    let mut rig = rig();
    let id = "eui.8ce38ee20000000500000000000000a1";
    rig.allocate(DISKS, &[id]).unwrap();
    rig.unplug("pci/0000:43:00.0");
    let survey = rig.survey();
    assert_eq!(survey.ids(DISKS).len(), 6, "{survey}");
    assert!(survey.unit(id).is_healthy(), "{survey}");
    // The other way round: it has one when it is handed out, and then two.
    let mut rig = self::rig();
    rig.unplug("pci/0000:43:00.0");
    rig.allocate(DISKS, &[id]).unwrap();
    assert_eq!(rig.survey().unit(id).property("controller"), Some("nvme6"));
    let block = |name: &str| {
        let start = NODE.find(&format!("P: /devices/{name}\n")).unwrap();
        let block = &NODE[start..];
        block[..block.find("\n\n").unwrap() + 2].to_owned()
    };
    let function = "pci0000:40/0000:40:01.3/0000:43:00.0";
    for part in ["", "/nvme/nvme5", "/nvme/nvme5/nvme5c5n1"] {
        rig.plug(&block(&format!("{function}{part}")));
    }
    let subsystem = "virtual/nvme-subsystem/nvme-subsys5";
    rig.change(Change::SetLink {
        location: subsystem.to_owned(),
        path: "nvme5".to_owned(),
        target: format!("../../../{function}/nvme/nvme5"),
    });
    let survey = rig.survey();
    assert_eq!(survey.ids(DISKS).len(), 6, "{survey}");
    assert!(survey.unit(id).is_healthy(), "{survey}");
}

/// Nor is it another one because its worldwide name cannot be read now.
#[test]
fn a_disk_whose_name_cannot_be_read_stays_what_it_was() {
    let mut rig = rig();
    let id = "eui.36345330524000030025385300000003";
    assert!(rig.survey().unit(id).is_healthy());
    rig.remove("block/nvme3n1", "wwid");
    // What is no file cannot be read as one.
    rig.set("block/nvme3n1", "wwid/x", "");
    let survey = rig.survey();
    assert!(survey.unread.contains(&"nvme3n1".to_owned()), "{survey}");
    assert_eq!(survey.ids(DISKS).len(), 6, "{survey}");
    assert!(matches!(survey.unit(id).verdict, Some(Verdict::Unknown(_))), "{survey}");
}

/// The host keeps back the disk and the partition that is mounted, and offers the others.
#[test]
fn a_disk_with_a_partition_in_use_is_not_given_by_its_other_partitions() {
    let policy = POLICY
        .replace("      min-size: 100GB", "      partitioned: true")
        .replace("name: \"nvme*n{[0-9],[0-9][0-9]}\"", "name: \"nvme*\"");
    let mut rig = Rig::of::<Nvme>(&policy, "nvme", NODE);
    let root = "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n";
    rig.file("/proc/1/mountinfo", root);
    let survey = rig.survey();
    assert!(survey.has_said("nvme0n1 is not offered now: the host gives no node of it"), "{survey}");
    let nodes = |survey: &Survey| survey.units.iter().flat_map(|unit| unit.nodes.clone()).collect::<String>();
    assert!(!nodes(&survey).contains("nvme0n1"), "{survey}");
    rig.file("/proc/1/mountinfo", "");
    let survey = rig.survey();
    assert_eq!(survey.unit("0000:01:00.0-n1").nodes, ["/dev/nvme0n1 rw", "/dev/nvme0n1p1 rw", "/dev/nvme0n1p2 rw"]);
}

#[test]
fn the_same_namespace_twice_is_given_to_nobody() {
    let mut rig = rig();
    rig.survey();
    rig.plug(
        r"
P: /devices/pci0000:40/0000:40:01.2/0000:42:00.0/nvme/nvme2/nvme2n9
N: nvme2n9
E: SUBSYSTEM=block
E: DEVTYPE=disk
E: DEVNAME=/dev/nvme2n9
E: MAJOR=259
E: MINOR=90
A: dev=259:90\n
A: nsid=1\n
A: size=7501476528\n
A: wwid=eui.36344830524000010025384e00000001\n
",
    );
    let survey = rig.survey();
    assert_eq!(survey.ids(DISKS).len(), 6, "{survey}");
    assert_eq!(
        survey.unit(FIRST).verdict,
        Some(Verdict::Unhealthy("it is the same namespace as nvme2n9: load nvme_core with multipath=Y".to_owned()))
    );
}

#[test]
fn what_cannot_be_read_stays_and_is_unknown() {
    let mut rig = rig();
    rig.survey();
    rig.remove("block/nvme1n1", "size");
    let survey = rig.survey();
    assert!(survey.unread.contains(&"nvme1n1".to_owned()), "{survey}");
    assert!(matches!(survey.unit(FIRST).verdict, Some(Verdict::Unknown(_))), "{survey}");
}

/// The kernel counts drives as it finds them.
#[test]
fn a_name_that_another_disk_has_now_is_another_disk() {
    let mut rig = configured("ids: wwid");
    let id = "eui.36344830524000010025384e00000001";
    assert!(rig.survey().unit(id).is_healthy());
    rig.set("block/nvme1n1", "wwid", "eui.ffff\n");
    let survey = rig.survey();
    assert!(!survey.ids(DISKS).contains(&id) && survey.ids(DISKS).contains(&"eui.ffff"), "{survey}");
}

#[test]
fn ids_and_serial_numbers_are_as_configured() {
    let survey = configured("ids: name").survey();
    assert_eq!(survey.ids(DISKS)[0], "nvme1n1");
    assert_eq!(survey.unit("nvme1n1").property("serial"), None);
    let survey = configured("serial: true").survey();
    let disk = survey.unit(FIRST);
    assert_eq!(disk.property("serial"), Some("S6EXAMPLE000001"));
    assert_eq!(disk.property("wwid"), Some("eui.36344830524000010025384e00000001"));
}

#[test]
fn other_transports_and_small_disks_are_a_matter_of_configuration() {
    let survey = configured("transport: [pcie, tcp]").survey();
    assert!(survey.ids(DISKS).contains(&"uuid.4f1c8a3e-0d5b-4c6e-9b7a-2f3e4d5c6b7a"), "{survey}");
    let survey = configured("min-size: 1TB").survey();
    assert!(!survey.ids(DISKS).contains(&"0000:c2:00.0-n2"), "{survey}");
    let wrong = configured("min-size: much").try_survey().unwrap_err();
    assert!(wrong.contains("config min-size: must be a size, such as 500GB or 1TiB"), "{wrong}");
}

#[test]
fn a_temperature_alarm_counts_where_it_is_asked_for() {
    for (config, unhealthy) in [("temperature: true", true), ("temperature: false", false)] {
        let mut rig = configured(config);
        assert!(rig.survey().unit(FIRST).is_healthy());
        rig.set("hwmon/hwmon1", "temp1_alarm", "1\n");
        assert_eq!(!rig.survey().unit(FIRST).is_healthy(), unhealthy, "{config}");
    }
}

#[test]
fn a_drive_on_vfio_is_its_group() {
    let mut rig = rig();
    let survey = rig.survey();
    let drive = survey.unit("0000:44:00.0");
    assert_eq!(drive.nodes, ["/dev/vfio/44 rw", "/dev/vfio/vfio rw"]);
    assert_eq!(drive.property("device"), Some("144d:a80a"));
    rig.change(Change::RemoveNode("/dev/vfio/44".to_owned()));
    assert!(!rig.survey().unit("0000:44:00.0").is_healthy());
}

use super::*;
use proptest::prelude::*;

fn redacted(node: &str, more: &[&str]) -> (String, Vec<(&'static str, usize)>) {
    let more: Vec<_> = more.iter().map(|text| (*text).to_owned()).collect();
    let mut redactor = Redactor::new(&more).unwrap();
    let node = RecordedNode::parse("test", node).unwrap();
    redactor.know_host(&node);
    let text = redactor.redact(&node).unwrap().text().unwrap();
    let counts = redactor.replaced.iter().map(|(kind, numbers)| (*kind, numbers.len()));
    (text, counts.collect())
}

/// One device's attribute or file after another.
fn lines(lines: &str) -> String {
    let (text, _) = redacted(&format!("P: /devices/x\nE: SUBSYSTEM=misc\n{lines}"), &[]);
    let kept = text.lines().filter(|line| line.starts_with("A: ") || line.contains("=F: "));
    kept.map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_is_ones_own_is_replaced_by_the_same_form() {
    insta::assert_snapshot!(
        lines(
            "A: a_uuid=1b4e28ba-2fa1-41d2-883f-0016d3cca427\\n\nA: b_copy=GPU-1B4E28BA-2FA1-41D2-883F-0016D3CCA427\\n\n\
             A: c_nodash=x 1b4e28ba-2fa1-41d2-883f-0016d3cca428\\n\nA: d_address=0c:42:a1:12:34:56\\n\n\
             A: e_dashes=0C-42-A1-12-34-56\\n\nA: f_name=enx0c42a1123456\\n\nA: g_node_guid=0c42:a103:0012:3456\\n\n\
             A: h_gid=fe80:0000:0000:0000:0c42:a103:0012:3456\\n\nA: i_gid4=0000:0000:0000:0000:0000:ffff:0a01:0203\\n\n\
             A: j_ib=00:00:10:49:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:12:34:56\\n\nA: k_wwid=eui.0025388b01234567\\n\n\
             A: serial=S4EVNX0R123456      \\n\nA: l_model=Disk S4EVNX0R123456 of 1\\n\nA: unique_id=f9a3c1d2e4b5a697\\n\n\
             F: /opt/p=unique_id 17988434448172295831\\ngfx 90010\\n\nA: m_hex_serial=1423FFE8123\\n\n\
             F: /opt/i=Model: x\\nSerial Number:\\t 0324118042\\n\n"
        ),
        @r"
        A: a_uuid=00000000-0000-0000-0000-000000000003\n
        A: b_copy=GPU-00000000-0000-0000-0000-000000000003\n
        A: c_nodash=x 00000000-0000-0000-0000-000000000004\n
        A: d_address=00:00:00:00:00:05\n
        A: e_dashes=00-00-00-00-00-05\n
        A: f_name=enx000000000005\n
        A: g_node_guid=0000:0000:0000:0006\n
        A: h_gid=fe80:0000:0000:0000:0000:0000:0000:0006\n
        A: i_gid4=0000:0000:0000:0000:0000:0000:0000:0007\n
        A: j_ib=00:00:10:49:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:06\n
        A: k_wwid=eui.0000000000000008\n
        A: l_model=Disk X0XXXX0X000010 of 1\n
        A: m_hex_serial=00000000009\n
        A: serial=X0XXXX0X000010      \n
        A: unique_id=0000000000000002\n
        E: DEVGATE=F: /opt/i=Model: x\nSerial Number:\t 0000000001\n
        E: DEVGATE=F: /opt/p=unique_id 00000000000000000002\ngfx 90010\n
        "
    );
}

#[test]
fn what_is_nobodys_own_stays() {
    let same = "A: a=0000:3b:00.0\\n\nA: address=00:00:00:00:00:00\\n\nA: broadcast=ff:ff:ff:ff:ff:ff\\n\n\
                A: class_id={44c4f61d-4444-4400-9d52-802e27ede19f}\\n\nA: gid=fe80:0000:0000:0000:0000:0000:0000:0000\\n\n\
                A: modalias=vmbus:44c4f61d444444009d52802e27ede19f\\n\nA: nguid=00000000-0000-0000-0000-000000000000\\n\n\
                A: product=00:11:22\\n\nA: serial=0000:00:14.0\\n\nA: uuid=(null)\\n\nA: version=96.00.74.00.01\\n\n";
    assert_eq!(lines(same), same);
    for nothing in ["None", "N/A", "0000000000", "To Be Filled By O.E.M.", ""] {
        let line = format!("A: board_serial={nothing}\\n\n");
        assert_eq!(lines(&line), line);
    }
}

/// Names, links, properties and the log have the same as the contents.
#[test]
fn links_between_values_still_hold() {
    let id = "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001";
    let node = format!(
        "P: /devices/pci0/{id}\nE: SUBSYSTEM=mdev\nE: MDEV_UUID={id}\nA: uuid={id}\nL: self=../../pci0/{id}\n\n\
         F: /proc/sys/kernel/hostname=worker-17\\n\nK: 5 acme {id} on worker-17: lost; worker-170 not\n"
    );
    let (text, counts) = redacted(&node, &[]);
    let new = "00000000-0000-0000-0000-000000000002";
    assert!(!text.contains(id) && text.matches(new).count() == 5, "{text}");
    assert!(text.contains(&format!("K: 5 acme {new} on xxxxxx-01: lost; worker-170 not")), "{text}");
    assert_eq!(counts, [("UUIDs", 1), ("host names", 1)]);
}

#[test]
fn more_can_be_replaced() {
    let node =
        "P: /devices/x\nE: SUBSYSTEM=misc\nA: slot=rack 12 unit 7\\n\nA: other=rack 12 unit 7\\n\nA: label=unit 7\\n\n";
    let (text, counts) = redacted(node, &["rack ([0-9]+)", "unit"]);
    assert!(text.contains("A: slot=rack 02 xxx1 7\\n") && text.contains("A: other=rack 02 xxx1 7\\n"), "{text}");
    assert_eq!(counts, [("values of --redact", 2)]);
    assert!(Redactor::new(&["(".to_owned()]).is_err());
}

#[test]
fn what_nobody_can_look_through_is_left_out() {
    let mut redactor = Redactor::new(&[]).unwrap();
    let node =
        "P: /devices/x\nE: SUBSYSTEM=misc\nH: edid=00FFFFFFFFFFFF00\nH: descriptors=1201000200\nA: text=a\\000\n";
    let text = redactor.redact(&RecordedNode::parse("test", node).unwrap()).unwrap().text().unwrap();
    assert!(!text.contains("edid") && text.contains("H: descriptors=1201000200") && text.contains("text"), "{text}");
    assert_eq!(redactor.left.len(), 1);
}

/// Names of SAS, Fibre Channel and 1-Wire, serial numbers within longer words, and ones that begin like an address.
#[test]
fn what_is_ones_own_is_replaced_however_it_is_written() {
    insta::assert_snapshot!(
        lines(
            "A: a_serial=S4EVNX0R123456      \\n\nA: b_nqn=nqn.2014.08.org.nvmexpress:144d144dS4EVNX0R123456      Disk 970\\n\n\
             A: c_nqn=nqn.2014.08.org.nvmexpress:12341234Z9Y8X7W6V5          Other\\n\n\
             A: d_nqn=nqn.2018-01.com.acme:guid:E8238FA6BF53-0001-001B448B49ABCDEF\\n\n\
             A: e_wwid=naa.5000c500a1b2c3d4\\n\nA: f=0x5000c500a1b2c3d4\\n\nA: sas_address=0x5000c500a1b2c3d4\\n\n\
             A: port_name=0x10000090fa8e1234\\n\nA: node_name=0xc0000090fa8e1234\\n\nA: phys_port_name=pf0vf1\\n\n\
             A: g_identifier=0x500304801f2e3d4c\\n\nA: h_serial=01:23:45:67:89:ab:cd\\n\nA: i=0123456789ABCD\\n\n\
             A: j_serial=SN-01:23:45:67:89:ab\\n\nA: k_serial_number=b0-26-28-ff-fe-12-34-56\\n\n\
             A: l_eui=00 1b 44 8b 49 ab cd ef\\n\nA: m_wwid=eui.001b448b49abcdef\\n\nA: n_copy=s4evnx0r123456-part1\\n\n\
             A: o_mask=0x2000000000000000\\n\nA: p_serial=A1B2\\n\nA: q=A1B2 A1B23 xA1B2\\n\nA: r_serial=01:23:45:67:89:ab\\n\n"
        ),
        @r"
        A: a_serial=X0XXXX0X000001      \n
        A: b_nqn=nqn.2014.08.org.nvmexpress:144d144dX0XXXX0X000001      Disk 970\n
        A: c_nqn=nqn.2014.08.org.nvmexpress:12341234X0X0X0X0X2          Other\n
        A: d_nqn=nqn.2018-01.com.acme:guid:000000000000-0000-0000000000000003\n
        A: e_wwid=naa.0000000000000004\n
        A: f=0x0000000000000004\n
        A: g_identifier=0x0000000000000005\n
        A: h_serial=00:00:00:00:00:00:06\n
        A: i=00000000000006\n
        A: j_serial=SN-00:00:00:00:00:07\n
        A: k_serial_number=00-00-00-00-00-00-00-08\n
        A: l_eui=00 00 00 00 00 00 00 09\n
        A: m_wwid=eui.0000000000000009\n
        A: n_copy=x0xxxx0x000001-part1\n
        A: node_name=0x000000000000000a\n
        A: o_mask=0x2000000000000000\n
        A: p_serial=X011\n
        A: phys_port_name=pf0vf1\n
        A: port_name=0x000000000000000c\n
        A: q=X011 A1B23 xA1B2\n
        A: r_serial=00:00:00:00:00:07\n
        A: sas_address=0x0000000000000004\n
        "
    );
}

#[test]
fn addresses_in_the_network_are_replaced() {
    let node = "P: /devices/x\nE: SUBSYSTEM=nvme\nA: address=traddr=10.20.30.40,trsvcid=4420\\n\nA: other=traddr=0000:3b:00.0\\n\n\n\
                F: /proc/sys/kernel/hostname=worker-17.example.com\\n\nF: /opt/x=10.20.30.40 of worker-17\\n\n";
    let (text, _) = redacted(node, &[]);
    assert!(!text.contains("20.30") && !text.contains("worker") && !text.contains("example"), "{text}");
    assert!(text.contains("trsvcid=4420") && text.contains("traddr=0000:3b:00.0"), "{text}");
}

/// A computer's name whose end is a serial number's beginning.
#[test]
fn nothing_is_left_of_two_that_overlap() {
    let node = "P: /devices/x\nE: SUBSYSTEM=misc\nA: serial=17-SECRET-99\n\n\
                F: /proc/sys/kernel/hostname=worker-17\n\nF: /opt/x=worker-17-SECRET-99 worker-17\n\n";
    let (text, _) = redacted(node, &[]);
    assert!(!text.contains("worker") && !text.contains("SECRET") && !text.contains("99"), "{text}");
}

#[test]
fn ids_of_one_wire_are_replaced_everywhere() {
    let node = "P: /devices/w1_bus_master1/28-000005e2fdc3\nE: SUBSYSTEM=w1\nE: W1_FID=28\n\
                E: W1_SLAVE_ID=0000000000000000000005E2FDC3\nA: name=28-000005e2fdc3\n\n\
                P: /devices/w1_bus_master1/10-010802cf1a2b\nE: SUBSYSTEM=w1\nE: W1_FID=10\nA: name=10-010802cf1a2b\n";
    let (text, _) = redacted(node, &[]);
    let lower = text.to_ascii_lowercase();
    assert!(!lower.contains("5e2fdc3") && !lower.contains("02cf1a2b"), "{text}");
    assert!(text.contains("w1_bus_master1/28-000000000002") && text.contains("=28-000000000002"), "{text}");
}

/// What may stand under a key: a serial number, or bytes with something between them.
fn serial() -> impl Strategy<Value = String> {
    let bytes = |between: &'static str| {
        let some = proptest::collection::vec(any::<u8>(), 5..9);
        some.prop_map(move |bytes| {
            let parts: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            parts.join(between)
        })
    };
    prop_oneof![
        "[A-Z0-9]{8,20}",
        "[a-z]{2,4}-[A-Z0-9]{4,8}[_.][0-9]{4}",
        "[0-9a-f]{16}",
        "(0x|naa\\.5|eui\\.)[0-9a-f]{15}",
        "[1-9][0-9]{16,18}",
        bytes(":"),
        bytes("-"),
        bytes(" "),
        bytes(":").prop_map(|bytes| format!("SN-{bytes}")),
    ]
}

proptest! {
    #[test]
    fn nothing_that_was_learnt_is_left(
        serials in proptest::collection::vec((serial(), 0..6_usize, "[A-Za-z0-9]{0,6}", "[A-Za-z0-9 ]{0,6}"), 1..6),
    ) {
        let keys = ["serial", "board_serial", "wwid", "unique_id", "sas_address", "acme_identifier"];
        let mut node = String::new();
        for (n, (serial, key, before, after)) in serials.iter().enumerate() {
            let (key, lower) = (keys[*key], serial.to_ascii_lowercase());
            // In a word only what a word can have in it.
            let (before, after) = match serial.chars().all(|c| c.is_ascii_alphanumeric()) {
                true => (before.as_str(), after.as_str()),
                false => ("", ""),
            };
            node.push_str(&format!(
                "P: /devices/x{n}\nE: SUBSYSTEM=misc\nE: ABOUT={before}{serial}{after}\nA: {key}={serial}  \\n\nA: copy={lower}\n\n\
                 F: /opt/{n}=one {before}{serial}{after}\\nSerial Number: {serial}\\n\n\n"
            ));
        }
        let (text, _) = redacted(&node, &[]);
        let text = text.to_ascii_lowercase();
        for (serial, ..) in &serials {
            prop_assert!(!text.contains(&serial.to_ascii_lowercase()), "{serial} in\n{text}");
        }
    }
}

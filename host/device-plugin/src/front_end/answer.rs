//! A reply of the plugin layer in the kubelet's words.

use devgate_core::offer::{AllocateError, Reply};
use std::collections::HashSet;
use tonic::Status;

use devgate_kubelet::api;

/// The most characters of an error's text: it becomes part of a pod's status.
const MAX_TEXT: usize = 512;

/// One container's answer.
pub(crate) fn container_response(reply: &Reply) -> api::ContainerAllocateResponse {
    let mut response = api::ContainerAllocateResponse {
        envs: reply.env.clone(),
        annotations: reply.annotations.clone(),
        ..Default::default()
    };
    response.mounts.extend(reply.mounts.iter().map(|mount| api::Mount {
        container_path: mount.container_path.clone(),
        host_path: mount.host_path.clone(),
        read_only: mount.read_only,
    }));
    response.devices.extend(reply.nodes.iter().map(|node| api::DeviceSpec {
        container_path: node.container_path.clone(),
        host_path: node.host_path.clone(),
        permissions: node.access.to_string(),
    }));
    response.cdi_devices.extend(reply.cdi.iter().map(|name| api::CdiDevice { name: name.clone() }));
    response
}

/// The error that the kubelet shows as the reason why it rejected the pod.
pub(crate) fn status(error: &AllocateError) -> Status {
    let text: String = error.to_string().chars().take(MAX_TEXT).collect();
    match error {
        AllocateError::Unknown(_) => Status::invalid_argument(text),
        AllocateError::Refused(_) => Status::failed_precondition(text),
        AllocateError::Busy(_) => Status::unavailable(text),
        AllocateError::Guest(_) | AllocateError::Host(_) => Status::internal(text),
    }
}

/// Whether a choice is one: `size` different ids, all of them available, and all that must be in it.
pub(crate) fn is_choice(chosen: &[String], available: &[String], must_include: &[String], size: usize) -> bool {
    let different: HashSet<&String> = chosen.iter().collect();
    // What is available is the longest list, and is gone through once.
    let found: HashSet<&String> = available.iter().filter(|id| different.contains(id)).collect();
    chosen.len() == size
        && different.len() == size
        && found.len() == size
        && must_include.iter().all(|id| different.contains(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_core::offer::{MountEdit, NodeEdit};
    use devgate_types::Access;

    fn reply() -> Reply {
        Reply {
            env: [("A".to_owned(), "1".to_owned())].into(),
            nodes: vec![NodeEdit {
                container_path: "/dev/a".to_owned(),
                host_path: "/dev/b".to_owned(),
                access: "rw".parse::<Access>().unwrap(),
            }],
            mounts: vec![MountEdit {
                container_path: "/lib/a".to_owned(),
                host_path: "/lib/b".to_owned(),
                read_only: true,
            }],
            annotations: [("vendor.com/x".to_owned(), "y".to_owned())].into(),
            cdi: ["vendor.com/gpu=1".to_owned(), "vendor.com/gpu=0".to_owned()].into(),
        }
    }

    #[test]
    fn a_reply_reaches_the_kubelet_whole() {
        insta::assert_debug_snapshot!(container_response(&reply()), @r#"
        ContainerAllocateResponse {
            envs: {
                "A": "1",
            },
            mounts: [
                Mount {
                    container_path: "/lib/a",
                    host_path: "/lib/b",
                    read_only: true,
                },
            ],
            devices: [
                DeviceSpec {
                    container_path: "/dev/a",
                    host_path: "/dev/b",
                    permissions: "rw",
                },
            ],
            annotations: {
                "vendor.com/x": "y",
            },
            cdi_devices: [
                CdiDevice {
                    name: "vendor.com/gpu=0",
                },
                CdiDevice {
                    name: "vendor.com/gpu=1",
                },
            ],
        }
        "#);
    }

    #[test]
    fn an_error_keeps_its_text_and_gets_the_code_that_fits() {
        let of = |error: AllocateError| status(&error).code();
        assert_eq!(of(AllocateError::Unknown(String::new())), tonic::Code::InvalidArgument);
        assert_eq!(of(AllocateError::Refused(String::new())), tonic::Code::FailedPrecondition);
        assert_eq!(of(AllocateError::Busy(String::new())), tonic::Code::Unavailable);
        assert_eq!(of(AllocateError::Guest(String::new())), tonic::Code::Internal);
        assert_eq!(of(AllocateError::Host(String::new())), tonic::Code::Internal);
        assert_eq!(status(&AllocateError::Busy("é".repeat(9_999))).message().chars().count(), MAX_TEXT);
    }

    #[test]
    fn a_choice_is_complete_and_available_or_none() {
        let ids = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let ok = |chosen, must| is_choice(&ids(chosen), &ids("a b c"), &ids(must), 2);
        assert!(ok("a b", "") && ok("c a", "a"));
        assert!(!ok("a", "") && !ok("a a", "") && !ok("a d", "") && !ok("a b", "c") && !ok("a b c", ""));
    }
}

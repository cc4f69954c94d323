//! Line 1: what only shows on the wire, with a client that writes HTTP/2 itself.

use crate::devices::DRIVER;
use crate::world::{LONG, World};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use devgate_kubelet::api::registration::PluginInfo;
use prost::Message as _;
use std::path::Path;
use tokio::net::UnixStream;

/// As grpc-go's client calls a registration socket: its whole path, with an escape for each `/`, is the authority.
fn authority(path: &Path) -> String {
    path.display().to_string().replace('/', "%2F")
}

/// Calls with a message of one field that no version knows.
async fn call(socket: &Path, authority: Option<&str>, method: &str) -> Result<(Bytes, String), h2::Error> {
    let message = [0xfa, 0x07, 1, b'x'];
    let stream = UnixStream::connect(socket).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let mut client = client.ready().await.unwrap();
    let builder = match authority {
        Some(authority) => {
            http::Request::builder().version(http::Version::HTTP_2).uri(format!("http://{authority}{method}"))
        }
        // The client leaves :authority out only for a request that it thinks came over HTTP/1.
        None => http::Request::builder().version(http::Version::HTTP_11).uri(method),
    };
    let request =
        builder.method("POST").header("content-type", "application/grpc").header("te", "trailers").body(()).unwrap();
    let (response, mut body) = client.send_request(request, false).unwrap();
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(4);
    frame.put_slice(&message);
    body.send_data(frame.freeze(), true).unwrap();
    let (head, mut body) = tokio::time::timeout(LONG, response).await.unwrap()?.into_parts();
    let mut data = BytesMut::new();
    while let Some(chunk) = body.data().await {
        data.put(chunk?);
    }
    let trailers = body.trailers().await?.unwrap_or_default();
    let status = trailers.get("grpc-status").or(head.headers.get("grpc-status")).unwrap();
    let status = status.to_str().unwrap().to_owned();
    if data.has_remaining() {
        data.advance(5);
    }
    Ok((data.freeze(), status))
}

#[tokio::test]
async fn dra01_the_kubelets_path_as_authority_is_taken_and_so_is_localhost_and_none() {
    let world = World::new().await;
    let socket = world.registration(DRIVER);
    let path = authority(&socket);
    assert!(path.starts_with("%2F") && path.ends_with("@reg.sock"), "{path}");
    for authority in [
        Some(path.as_str()),
        Some("%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Fgpu.vendor.com@reg.sock"),
        Some("localhost"),
        None,
    ] {
        let (info, status) = call(&socket, authority, "/pluginregistration.Registration/GetInfo").await.unwrap();
        assert_eq!(status, "0", "{authority:?}");
        assert_eq!(PluginInfo::decode(info).unwrap().name, DRIVER);
    }
    for version in ["v1", "v1beta1"] {
        let method = format!("/k8s.io.kubelet.pkg.apis.dra.{version}.DRAPlugin/NodePrepareResources");
        for authority in [Some("localhost"), None] {
            let (_, status) = call(&world.service(DRIVER), authority, &method).await.unwrap();
            assert_eq!(status, "0", "{version} {authority:?}");
        }
    }
    let (_, status) =
        call(&world.service(DRIVER), None, "/k8s.io.kubelet.pkg.apis.dra.v2.DRAPlugin/Prepare").await.unwrap();
    assert_eq!(status, "12", "unimplemented");
}

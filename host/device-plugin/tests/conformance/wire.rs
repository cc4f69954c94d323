//! Lines 13 to 15, 26 and 64: what only shows on the wire, with a client that writes HTTP/2 itself.

use std::path::Path;
use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use devgate_kubelet::api;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::fake::{Fake, device};
use crate::harness::{GPU, LONG, Pair, allocate_request, eventually, next};

async fn connect(socket: &Path) -> h2::client::SendRequest<Bytes> {
    let stream = UnixStream::connect(socket).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    client.ready().await.unwrap()
}

/// Sends one gRPC message; with `authority`, or with none at all.
async fn call(
    client: &mut h2::client::SendRequest<Bytes>,
    authority: Option<&str>,
    method: &str,
    message: &[u8],
) -> http::Response<h2::RecvStream> {
    let path = format!("/v1beta1.DevicePlugin/{method}");
    let builder = match authority {
        Some(authority) => {
            http::Request::builder().version(http::Version::HTTP_2).uri(format!("http://{authority}{path}"))
        }
        // The client leaves :authority out only for a request that it thinks came over HTTP/1.
        None => http::Request::builder().version(http::Version::HTTP_11).uri(path),
    };
    let request = builder
        .method("POST")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("grpc-accept-encoding", "gzip,deflate,zstd,identity")
        .body(())
        .unwrap();
    let (response, mut body) = client.send_request(request, false).unwrap();
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap());
    frame.put_slice(message);
    body.send_data(frame.freeze(), true).unwrap();
    tokio::time::timeout(LONG, response).await.unwrap().unwrap()
}

/// The body's first message, and the status from headers or trailers.
async fn unary(response: http::Response<h2::RecvStream>) -> (Bytes, String) {
    let (head, mut body) = response.into_parts();
    let mut data = BytesMut::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk.unwrap();
        body.flow_control().release_capacity(chunk.len()).unwrap();
        data.put(chunk);
    }
    let trailers = body.trailers().await.unwrap().unwrap_or_default();
    let status = trailers.get("grpc-status").or(head.headers.get("grpc-status"));
    let status = status.unwrap().to_str().unwrap().to_owned();
    if data.has_remaining() {
        assert_eq!(data.get_u8(), 0, "not compressed");
        data.advance(4);
    }
    (data.freeze(), status)
}

#[tokio::test]
async fn c13_the_kubelets_authority_and_none_are_accepted() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    let mut client = connect(&pair.socket(GPU)).await;
    for authority in [Some("localhost"), None] {
        let response = call(&mut client, authority, "GetDevicePluginOptions", &[]).await;
        assert_eq!(response.status(), 200);
        assert_eq!(unary(response).await.1, "0", "{authority:?}");
    }
}

/// One call of `GetDevicePluginOptions` in frames of our own, for an `:authority` that no client of ours would send: the
/// kind of the first frame that answers it, and the error code where that is `RST_STREAM`.
async fn raw_call(raw: &mut UnixStream, stream: u8, authority: &str) -> (u8, Option<u32>) {
    let literal = |name: &[u8], value: &[u8]| {
        let mut field = name.to_vec();
        field.push(u8::try_from(value.len()).unwrap());
        field.extend(value);
        field
    };
    // POST and http from HPACK's static table; the others as literals with the table's names, `te` with its own.
    let mut block = vec![0x83, 0x86];
    block.extend(literal(&[0x04], b"/v1beta1.DevicePlugin/GetDevicePluginOptions"));
    block.extend(literal(&[0x01], authority.as_bytes()));
    block.extend(literal(&[0x0f, 0x10], b"application/grpc"));
    block.extend(literal(&[0x00, 2, b't', b'e'], b"trailers"));
    let mut frames = vec![0, 0, u8::try_from(block.len()).unwrap(), HEADERS, END_HEADERS, 0, 0, 0, stream];
    frames.extend(block);
    frames.extend([0, 0, 5, DATA, END_STREAM, 0, 0, 0, stream, 0, 0, 0, 0, 0]);
    raw.write_all(&frames).await.unwrap();
    loop {
        let (kind, of, payload) = tokio::time::timeout(LONG, frame(raw)).await.unwrap();
        if of == u32::from(stream) && kind == RST_STREAM {
            return (kind, Some(u32::from_be_bytes(payload[..4].try_into().unwrap())));
        }
        if of == u32::from(stream) && kind == HEADERS {
            return (kind, None);
        }
    }
}

/// The next frame: kind, stream and payload.
async fn frame(raw: &mut UnixStream) -> (u8, u32, Vec<u8>) {
    let mut head = [0; 9];
    raw.read_exact(&mut head).await.unwrap();
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    raw.read_exact(&mut payload).await.unwrap();
    (head[3], u32::from_be_bytes(head[5..9].try_into().unwrap()), payload)
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// HTTP/2's preface and empty SETTINGS.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// What h2 takes for an authority. A kubelet up to 1.25 sends the socket's path and cannot be served; one of the plugin
/// watcher sends it percent-encoded. Such a call is refused alone: the connection and the server go on.
#[tokio::test]
async fn c13_a_path_as_authority_is_refused_and_harms_nothing() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    let mut raw = UnixStream::connect(pair.socket(GPU)).await.unwrap();
    raw.write_all(PREFACE).await.unwrap();
    const PROTOCOL_ERROR: u32 = 1;
    let cases = [
        ("localhost", true),
        ("/var/lib/kubelet/device-plugins/x.sock", false),
        ("%2Fvar%2Flib%2Fkubelet%2Fdevice-plugins%2Fx.sock", false),
        ("unix:/var/lib/kubelet/device-plugins/x.sock", false),
        ("", false),
        ("x.sock", true),
        ("localhost", true),
    ];
    for (n, (authority, accepted)) in (0..).zip(cases) {
        let answer = raw_call(&mut raw, 2 * n + 1, authority).await;
        let expected = match accepted {
            true => (HEADERS, None),
            false => (RST_STREAM, Some(PROTOCOL_ERROR)),
        };
        assert_eq!(answer, expected, "{authority:?}");
    }
}

#[tokio::test]
async fn c14_nothing_is_compressed_pinged_or_cut() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    let mut client = connect(&pair.socket(GPU)).await;
    let message = allocate_request(&[&["a"]]).encode_to_vec();
    let response = call(&mut client, Some("localhost"), "Allocate", &message).await;
    assert_eq!(response.headers().get("grpc-encoding"), None);
    assert_eq!(unary(response).await.1, "0");

    // A connection on which nothing happens: SETTINGS and their acknowledgement, and then silence.
    let mut raw = UnixStream::connect(pair.socket(GPU)).await.unwrap();
    raw.write_all(PREFACE).await.unwrap();
    let mut kinds = Vec::new();
    while !kinds.contains(&SETTINGS) {
        let (kind, ..) = tokio::time::timeout(LONG, frame(&mut raw)).await.expect("no SETTINGS");
        kinds.push(kind);
    }
    while let Ok((kind, ..)) = tokio::time::timeout(Duration::from_millis(500), frame(&mut raw)).await {
        kinds.push(kind);
    }
    assert!(kinds.iter().all(|kind| [SETTINGS, WINDOW_UPDATE].contains(kind)), "{kinds:?}");
}

#[tokio::test]
async fn c15_many_calls_run_on_one_connection_at_once() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::new(&[&fake]).await;
    fake.close_gate();
    let mut client = pair.client(GPU).await;
    let mut first = client.list_and_watch(api::Empty {}).await.unwrap().into_inner();
    let mut second = client.list_and_watch(api::Empty {}).await.unwrap().into_inner();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let mut client = client.clone();
            tokio::spawn(async move { client.allocate(allocate_request(&[&["a"]])).await })
        })
        .collect();
    eventually("eight allocations", || fake.inside() == 8).await;
    client.get_device_plugin_options(api::Empty {}).await.unwrap();
    client.get_preferred_allocation(api::PreferredAllocationRequest::default()).await.unwrap();
    client.pre_start_container(api::PreStartContainerRequest::default()).await.unwrap();
    assert_eq!((next(&mut first).await.len(), next(&mut second).await.len()), (1, 1));
    fake.open_gate();
    for call in calls {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn c26_a_reader_that_sleeps_gets_the_newest_list_and_holds_nobody_up() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::with(&[&fake], |config| config.coalesce = Duration::ZERO, |_| {}).await;
    let mut client = connect(&pair.socket(GPU)).await;
    let response = call(&mut client, Some("localhost"), "ListAndWatch", &[]).await;
    let mut body = response.into_body();
    // Each list is some 200 KB, three times what may be sent unread; nothing is read meanwhile.
    let many = |n: usize| (0..4_000 + n).map(|n| device(&format!("{n:040}"))).collect::<Vec<_>>();
    const CHANGES: usize = 30;
    for n in 1..=CHANGES {
        fake.set(many(n));
        // The stand-in reads, and is served each time.
        pair.until(|kubelet| kubelet.capacity(GPU) == Some(4_000 + n)).await;
    }
    let (mut data, mut lists) = (BytesMut::new(), Vec::new());
    while lists.last() != Some(&(4_000 + CHANGES)) {
        let chunk = tokio::time::timeout(LONG, body.data()).await.expect("no newest list").unwrap().unwrap();
        body.flow_control().release_capacity(chunk.len()).unwrap();
        data.put(chunk);
        while data.len() >= 5 {
            let length = u32::from_be_bytes([data[1], data[2], data[3], data[4]]) as usize;
            if data.len() < 5 + length {
                break;
            }
            let message = data.split_to(5 + length).split_off(5);
            lists.push(api::ListAndWatchResponse::decode(message).unwrap().devices.len());
        }
    }
    assert!(lists.len() <= 6, "{lists:?}");
}

#[tokio::test]
async fn c64_fields_of_a_newer_kubelet_are_ignored() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::new(&[&fake]).await;
    let mut client = connect(&pair.socket(GPU)).await;
    // Field 1: one container with id "a" (field 1), an unknown number (9) and text (10). Field 15: unknown bytes.
    let container = [0x0a, 1, b'a', 0x48, 7, 0x52, 3, b'n', b'e', b'w'];
    let mut message = vec![0x0a, u8::try_from(container.len()).unwrap()];
    message.extend(container);
    message.extend([0x7a, 2, 0xff, 0xfe]);
    let (data, status) = unary(call(&mut client, Some("localhost"), "Allocate", &message).await).await;
    assert_eq!(status, "0");
    let response = api::AllocateResponse::decode(data).unwrap();
    assert_eq!(response.container_responses[0].envs["VENDOR_COM_GPU"], "a");
    assert_eq!(fake.calls(), [["a"]]);
    // And a string that is none is refused without harm.
    let (_, status) = unary(call(&mut client, Some("localhost"), "Allocate", &[0x0a, 3, 0x0a, 1, 0xff]).await).await;
    assert_ne!(status, "0");
    assert_eq!(fake.calls().len(), 1);
}

/// A program that may open the socket may not take the host's memory by opening it often: the newest are served.
#[tokio::test]
async fn of_many_connections_and_streams_the_newest_are_served() {
    const MAX_STREAMS: usize = 16;
    let pair = Pair::new(&[&Fake::new(GPU, &["a"])]).await;
    // The kubelet's own connection is the first to go, and soon after its registration that would be registered anew at once.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let mut raws = Vec::new();
    for _ in 0..=MAX_STREAMS {
        let mut raw = UnixStream::connect(pair.socket(GPU)).await.unwrap();
        raw.write_all(PREFACE).await.unwrap();
        // Accepted before the next one comes.
        while tokio::time::timeout(LONG, frame(&mut raw)).await.expect("no SETTINGS").0 != SETTINGS {}
        raws.push(raw);
    }
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(LONG, raws[0].read_to_end(&mut rest)).await;
    ended.expect("the oldest connection is still open").ok();
    let served = raw_call(raws.last_mut().unwrap(), 1, "localhost").await;
    assert_eq!(served, (HEADERS, None));
    drop(raws);

    let mut client = connect(&pair.socket(GPU)).await;
    let mut streams = Vec::new();
    for _ in 0..=MAX_STREAMS {
        let response = call(&mut client, Some("localhost"), "ListAndWatch", &[]).await;
        assert_eq!(response.status(), 200);
        streams.push(response);
    }
    let oldest = tokio::time::timeout(LONG, unary(streams.remove(0))).await;
    assert_eq!(oldest.expect("the oldest stream is still open").1, "0");
    let newest = streams.pop().unwrap().into_body().data().await.unwrap().unwrap();
    assert!(newest.len() > 5);
}

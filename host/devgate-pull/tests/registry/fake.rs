//! A registry that answers as a test wants it to.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What a client asked for.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) authorization: Option<String>,
}

/// What is written back: bytes as they are, then as many zeros.
pub(super) struct Answer {
    head: Vec<u8>,
    endless: bool,
}

impl Answer {
    pub(super) fn raw(text: impl AsRef<[u8]>) -> Self {
        Self { head: text.as_ref().to_vec(), endless: false }
    }

    pub(super) fn ok(body: &[u8]) -> Self {
        let mut head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        head.extend(body);
        Self { head, endless: false }
    }

    pub(super) fn status(status: u16) -> Self {
        Self::raw(format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n"))
    }

    pub(super) fn with(status: u16, header: &str) -> Self {
        Self::raw(format!("HTTP/1.1 {status} X\r\n{header}\r\nContent-Length: 0\r\n\r\n"))
    }

    /// A body without an end.
    pub(super) fn endless() -> Self {
        Self { head: b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), endless: true }
    }
}

/// It runs until it is dropped.
pub(super) struct Fake {
    port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
    over: Arc<AtomicBool>,
}

impl Fake {
    pub(super) fn new(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, over) = (Arc::<Mutex<Vec<Request>>>::default(), Arc::<AtomicBool>::default());
        let (note, ends, answer) = (Arc::clone(&seen), Arc::clone(&over), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let (note, answer) = (Arc::clone(&note), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream.unwrap(), &note, &*answer));
            }
        });
        Self { port, seen, over }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    /// How often a path was asked for.
    pub(super) fn count(&self, path: &str) -> usize {
        self.seen().iter().filter(|request| request.path == path).count()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the listener, which then lets go of the port.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

/// One request for each connection.
fn serve(mut stream: TcpStream, seen: &Mutex<Vec<Request>>, answer: &dyn Fn(&Request) -> Answer) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(first)) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut request = Request { path, authorization: None };
    for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("authorization")
        {
            request.authorization = Some(value.to_owned());
        }
    }
    seen.lock().unwrap().push(request.clone());
    let answer = answer(&request);
    let head = String::from_utf8_lossy(&answer.head).into_owned();
    let bytes = match head.split_once("\r\n") {
        // So that the client asks no second time here.
        Some((first, _)) => [first.as_bytes(), b"\r\nConnection: close", &answer.head[first.len()..]].concat(),
        None => answer.head,
    };
    // A client that has had enough hangs up.
    let mut alive = stream.write_all(&bytes).is_ok();
    while answer.endless && alive {
        alive = stream.write_all(&[b' '; 65_536]).is_ok();
    }
}

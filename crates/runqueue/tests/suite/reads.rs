//! Short reads: a read that returns less than was asked for clears the readiness of a TCP socket. No data, and no end of
//! the stream, may be lost by that.
#![cfg(not(any(loom, shuttle)))]

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use unspin_runqueue::{Async, Elapsed, Executor, Socket, block_on, timeout};

/// A read that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(300);

fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// Reads until the end of the stream, in pieces of at most this size.
async fn read_to_end<T: Socket>(stream: &Async<T>, piece: usize) -> Result<Vec<u8>, Elapsed>
where
    for<'a> &'a T: std::io::Read,
{
    let mut all = Vec::new();
    let mut buffer = vec![0; piece];
    loop {
        match timeout(LIMIT, stream.read_some(&mut buffer)).await? {
            Ok(0) => return Ok(all),
            Ok(count) => all.extend_from_slice(&buffer[..count]),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn end_of_stream_that_came_with_the_data_is_read() {
    for shutdown in [Shutdown::Write, Shutdown::Both] {
        let (mut peer, stream) = tcp_pair();
        let stream = Async::new(stream).unwrap();
        peer.write_all(b"last").unwrap();
        peer.shutdown(shutdown).unwrap();
        assert_eq!(block_on(read_to_end(&stream, 100)), Ok(b"last".to_vec()));
    }
}

#[test]
fn end_of_stream_after_a_short_read_is_read() {
    let (mut peer, stream) = tcp_pair();
    let stream = Async::new(stream).unwrap();
    peer.write_all(b"last").unwrap();
    let mut buffer = [0; 100];
    assert_eq!(block_on(stream.read_some(&mut buffer)).unwrap(), 4);
    drop(peer);
    assert_eq!(block_on(read_to_end(&stream, 100)), Ok(Vec::new()));
}

#[test]
fn data_with_an_urgent_mark_in_it_is_read() {
    let (peer, stream) = tcp_pair();
    let stream = Async::new(stream).unwrap();
    let peer = socket2::Socket::from(peer);
    peer.send(b"before").unwrap();
    peer.send_out_of_band(b"!").unwrap();
    peer.send(b"after").unwrap();
    drop(peer);
    assert_eq!(block_on(read_to_end(&stream, 100)), Ok(b"beforeafter".to_vec()));
}

#[test]
fn streams_are_read_whole_whatever_the_sizes() {
    let executor = Executor::new().unwrap();
    for (burst, piece) in [(1, 100), (100, 7), (4096, 4096), (10_000, 4096)] {
        let text: Vec<u8> = (0..20 * burst).map(|byte| byte as u8).collect();
        let ((tcp_peer, tcp), (unix_peer, unix)) = (tcp_pair(), UnixStream::pair().unwrap());
        let (tcp, unix) = (Async::new(tcp).unwrap(), Async::new(unix).unwrap());
        let of_tcp = executor.spawn(async move { read_to_end(&tcp, piece).await });
        let of_unix = executor.spawn(async move { read_to_end(&unix, piece).await });
        std::thread::scope(|scope| {
            scope.spawn(|| text.chunks(burst).for_each(|chunk| (&tcp_peer).write_all(chunk).unwrap()));
            scope.spawn(|| text.chunks(burst).for_each(|chunk| (&unix_peer).write_all(chunk).unwrap()));
        });
        drop((tcp_peer, unix_peer));
        assert_eq!(executor.block_on(of_tcp).unwrap().as_ref(), Ok(&text), "{burst} {piece}");
        assert_eq!(executor.block_on(of_unix).unwrap().as_ref(), Ok(&text), "{burst} {piece}");
    }
}

//! Crates of others on the executor: hyper as HTTP server and client, over our sockets and over those of async-net, which
//! is built on async-io and brings its own reactor.

use futures_lite::{AsyncRead, AsyncWrite};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};
use smol_hyper::rt::FuturesIo;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use unspin_runqueue::queue::Policy;
use unspin_runqueue::{Async, Builder, Executor, spawn};

const CONNECTIONS: usize = 8;
const REQUESTS: usize = 300;

/// Answers each request of a connection with its path.
async fn serve(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
    let answer = |request: Request<Incoming>| async move {
        let path = Bytes::from(request.uri().path().to_owned());
        Ok::<_, Infallible>(Response::new(Full::new(path)))
    };
    server::conn::http1::Builder::new()
        .serve_connection(FuturesIo::new(stream), service_fn(answer))
        .await
        .expect("the connection is closed in order");
}

/// Makes all requests of a connection, one after another.
async fn request(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, number: usize) -> usize {
    let (mut sender, connection) =
        client::conn::http1::handshake(FuturesIo::new(stream)).await.expect("the server answers");
    let connection = spawn(connection);
    for round in 0..REQUESTS {
        let path = format!("/{number}/{round}");
        let request =
            Request::builder().uri(&path).header("host", "here").body(Empty::<Bytes>::new()).unwrap();
        sender.ready().await.expect("the connection is open");
        let response = sender.send_request(request).await.expect("the server answers");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, path);
    }
    drop(sender);
    connection.await.unwrap().expect("the connection is closed in order");
    REQUESTS
}

fn on_each(test: impl Fn(&Executor)) {
    for policy in Policy::ALL {
        let executor = Builder::new().policy(policy).workers(4).build().unwrap();
        test(&executor);
        assert!(executor.wait_until_idle(Some(Duration::from_secs(600))), "{policy}");
    }
}

async fn sum(clients: Vec<unspin_runqueue::JoinHandle<usize>>) -> usize {
    let mut sum = 0;
    for client in clients {
        sum += client.await.unwrap();
    }
    sum
}

#[test]
fn hyper_serves_thousands_of_requests_over_our_sockets() {
    on_each(|executor| {
        let listener = Async::<TcpListener>::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.get_ref().local_addr().unwrap();
        let accept = executor.spawn(async move {
            for _ in 0..CONNECTIONS {
                let (stream, _) = listener.accept().await.unwrap();
                drop(spawn(serve(stream)));
            }
        });
        let connect = |number| async move {
            let stream = Async::<TcpStream>::connect(address).await.unwrap();
            request(stream, number).await
        };
        let clients = (0..CONNECTIONS).map(|number| executor.spawn(connect(number))).collect();
        assert_eq!(executor.block_on(sum(clients)), CONNECTIONS * REQUESTS);
        executor.block_on(accept).unwrap();
    });
}

#[test]
fn hyper_serves_thousands_of_requests_over_async_net() {
    on_each(|executor| {
        let (tell, address) = std::sync::mpsc::channel();
        let accept = executor.spawn(async move {
            let listener = async_net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            for _ in 0..CONNECTIONS {
                let (stream, _) = listener.accept().await.unwrap();
                drop(spawn(serve(stream)));
            }
        });
        let address = address.recv().unwrap();
        let connect = |number| async move {
            let stream = async_net::TcpStream::connect(address).await.unwrap();
            request(stream, number).await
        };
        let clients = (0..CONNECTIONS).map(|number| executor.spawn(connect(number))).collect();
        assert_eq!(executor.block_on(sum(clients)), CONNECTIONS * REQUESTS);
        executor.block_on(accept).unwrap();
    });
}

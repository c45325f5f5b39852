//! A running `ralph serve`, and somebody who asks its API.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;

use crate::invocation::Running;
use crate::project::TestProject;
use crate::wait::until;

/// The dashboard of a project; it ends when this is dropped.
#[derive(Debug)]
pub struct Dashboard {
    port: u16,
    token: String,
    process: Option<Running>,
}

impl Dashboard {
    /// Start it and wait until it answers.
    #[track_caller]
    pub fn of(project: &TestProject) -> Self {
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
        let port = free.expect("a free port").port();
        let process = project.spawn(["serve", "--port", &port.to_string()]);
        until(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
        let token = project.read(".git/ralph/serve-token").trim().to_owned();
        Self { port, token, process: Some(process) }
    }

    /// What the API answers.
    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        let Self { port, token, .. } = self;
        let mut stream = TcpStream::connect(("127.0.0.1", *port)).expect("the dashboard");
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        serde_json::from_str(body).unwrap_or_else(|e| panic!("{path}: {e}: {answer}"))
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        drop(self.process.take().map(Running::kill));
    }
}

//! Why the server cannot start, and what it answers when a request cannot be met.

use std::io;
use std::net::{IpAddr, SocketAddr};

use ralph_host::store::LedgerStoreError;
use ralph_host::{FileError, project::Project};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::HttpResponse;

/// Error that keeps the server from starting.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not of this machine alone, and nobody said that this is meant.
    #[error("{0} can be reached from other machines")]
    Remote(IpAddr),
    /// Address that the server cannot listen on.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// Address with its port.
        address: SocketAddr,
        /// Reason from the operating system.
        source: io::Error,
    },
    /// File of the token that cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl ServeError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Remote(_) => Some(
                "whoever has the link could then steer ralph, over a connection that is not \
                 encrypted; if that is meant, add --allow-remote. A tunnel is safer: \
                 `ssh -L 7878:127.0.0.1:7878 HOST`"
                    .to_owned(),
            ),
            Self::Bind { .. } => Some("another port: `--port 0` takes any free one".to_owned()),
            Self::File(error) => error.hint(),
        }
    }
}

/// The answer to a request that cannot be met.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorAnswer {
    error: String,
}

/// A request that cannot be met.
#[derive(Debug)]
pub(crate) struct HttpRefusal {
    status: u16,
    message: String,
}

impl HttpRefusal {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self::new(404, message)
    }

    /// A file of the project refuses. The root's path is nobody's business.
    pub(crate) fn broken(project: &Project, message: impl ToString) -> Self {
        let root = format!("{}/", project.root().display());
        Self::new(500, message.to_string().replace(&root, ""))
    }

    pub(crate) fn response(&self) -> HttpResponse {
        HttpResponse::json(self.status, &ErrorAnswer { error: self.message.clone() })
    }
}

impl From<LedgerStoreError> for HttpRefusal {
    fn from(error: LedgerStoreError) -> Self {
        let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        Self::new(500, format!("{error}{hint}"))
    }
}

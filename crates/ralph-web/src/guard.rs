//! Access check. It comes before everything else and needs the headers only.
//!
//! Four conditions must hold. The *Host* is one of this server's own names, so that no other name can
//! be pointed at it (DNS rebinding). The *Origin*, if there is one, is this server (CSRF). The *token*
//! is there: as a cookie that scripts cannot read and other sites cannot send, or as a bearer token of
//! a program. A request with the cookie that *changes* something must have an Origin, which every
//! browser sends. The link that a person opens contains the token once. The token becomes the cookie,
//! and the browser goes on with the address without it.

use std::net::{IpAddr, SocketAddr};

use crate::error::HttpRefusal;
use crate::http::{HttpMethod, HttpRequest, HttpResponse};

/// Permission for requests from other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteAccess {
    Refuse,
    Allow,
}

/// Whether an address can only be reached from this machine.
pub(crate) fn is_local(address: IpAddr) -> bool {
    address.is_loopback()
}

/// Address and token that a request has to match.
#[derive(Clone, Debug)]
pub(crate) struct RequestGuard {
    address: SocketAddr,
    token: String,
}

/// Decision about a request, made before it is answered.
#[derive(Debug)]
pub(crate) enum RequestAdmission {
    Enter,
    /// Request that is answered with this response only.
    Refuse(HttpResponse),
}

impl RequestGuard {
    pub(crate) fn new(address: SocketAddr, token: String) -> Self {
        Self { address, token }
    }

    /// The address that a person opens.
    pub(crate) fn link(&self) -> String {
        format!("http://{}/?token={}", self.shown(), self.token)
    }

    /// Return the host and port of the server as a person opens them.
    pub(crate) fn shown(&self) -> String {
        let port = self.address.port();
        match self.address.ip() {
            ip if ip.is_unspecified() => format!("127.0.0.1:{port}"),
            IpAddr::V4(ip) => format!("{ip}:{port}"),
            IpAddr::V6(ip) => format!("[{ip}]:{port}"),
        }
    }

    fn cookie(&self) -> String {
        // Cookies do not know ports: two servers on one machine need two names.
        format!("ralph-{}", self.address.port())
    }

    pub(crate) fn admit(&self, request: &HttpRequest) -> RequestAdmission {
        let refuse = |status, words: &str| {
            RequestAdmission::Refuse(HttpRefusal::new(status, words).response())
        };
        let Some(host) = request.header("host").filter(|_| request.count("host") == 1) else {
            return refuse(400, "one Host header is needed");
        };
        if !self.is_own_name(host) {
            return refuse(421, "this server does not have that name");
        }
        let origin = request.header("origin");
        if origin.is_some_and(|origin| !self.is_own_origin(origin, host)) {
            return refuse(403, "requests of other sites are not answered");
        }
        if request.header("sec-fetch-site").is_some_and(|site| site == "cross-site")
            && (request.method.changes() || request.path != "/")
        {
            return refuse(403, "requests of other sites are not answered");
        }
        if let Some(token) = bearer(request) {
            return match same(token, &self.token) {
                true => RequestAdmission::Enter,
                false => refuse(401, "that token does not open this server"),
            };
        }
        if let Some(token) = request.asked("token") {
            let page = request.method == HttpMethod::Get && request.path == "/";
            return match page && same(token, &self.token) {
                true => RequestAdmission::Refuse(self.welcome()),
                false => RequestAdmission::Refuse(closed()),
            };
        }
        if !self.has_cookie(request) {
            let page = request.method == HttpMethod::Get && request.path == "/";
            let words = "a token is needed: open the link that `ralph serve` printed";
            return if page { RequestAdmission::Refuse(closed()) } else { refuse(401, words) };
        }
        if request.method.changes() && origin.is_none() {
            return refuse(403, "a change needs an Origin, or a bearer token");
        }
        RequestAdmission::Enter
    }

    /// Whether a Host is one of this server's.
    fn is_own_name(&self, host: &str) -> bool {
        let port = self.address.port();
        let (name, given) = match host.rsplit_once(':') {
            Some((name, given)) if !given.ends_with(']') => (name, given.parse().ok()),
            _ => (host, Some(80)),
        };
        if given != Some(port) {
            return false;
        }
        let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
        let ip = self.address.ip();
        match bare.parse::<IpAddr>() {
            Ok(asked) if is_local(ip) => is_local(asked),
            // On all addresses: any of them, but no name, since a name can be pointed anywhere.
            Ok(asked) => ip.is_unspecified() || asked == ip,
            Err(_) => {
                name.eq_ignore_ascii_case("localhost") && (is_local(ip) || ip.is_unspecified())
            }
        }
    }

    fn is_own_origin(&self, origin: &str, host: &str) -> bool {
        origin.strip_prefix("http://").is_some_and(|from| from.eq_ignore_ascii_case(host))
    }

    fn has_cookie(&self, request: &HttpRequest) -> bool {
        let name = self.cookie();
        request
            .headers
            .iter()
            .filter(|(header, _)| header == "cookie")
            .flat_map(|(_, value)| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .any(|(known, value)| known == name && same(value, &self.token))
    }

    /// The token becomes a cookie, and a page of our own leads on: a cookie that only this site sends
    /// would not be sent if another page had led here.
    fn welcome(&self) -> HttpResponse {
        let cookie = format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000",
            self.cookie(),
            self.token
        );
        let page = "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0;url=/\">\
                    <title>ralph</title><p><a href=\"/\">ralph</a>";
        HttpResponse::new(200, "text/html; charset=utf-8", page).with("Set-Cookie", cookie)
    }
}

fn closed() -> HttpResponse {
    let page = "<!doctype html><html lang=en><meta charset=utf-8>\
                <meta name=viewport content=\"width=device-width\"><title>ralph</title>\
                <h1>This dashboard needs its link</h1>\
                <p>Open the address that <code>ralph serve</code> printed in your terminal. \
                It holds a token and looks like <code>http://127.0.0.1:7878/?token=…</code>.";
    HttpResponse::new(401, "text/html; charset=utf-8", page)
}

fn bearer(request: &HttpRequest) -> Option<&str> {
    request.header("authorization")?.strip_prefix("Bearer ").map(str::trim)
}

/// Whether two words are the same, in a time that does not tell where they differ.
fn same(given: &str, token: &str) -> bool {
    let differ = given.bytes().zip(token.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == token.len() && differ == 0 && !token.is_empty()
}

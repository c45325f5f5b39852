//! The socket: a thread a connection, and one that looks at files while somebody watches.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::needs::LoopProcess;
use ralph_host::clock::Clock;
use ralph_host::ids::IdSource;
use ralph_host::proc::is_peer_started_by;
use ralph_host::project::Project;
use ralph_host::store::{LedgerStore, journal_file, keep_secret, new_secret, put_private};
use ralph_host::watch::FileWatch;

use crate::error::{HttpRefusal, ServeError};
use crate::guard::{RemoteAccess, RequestAdmission, RequestGuard, is_local};
use crate::http::{HttpMethod, HttpReadError, HttpRequest, HttpResponse};
use crate::site::ServerContext;
use crate::{limits, routes, sse};

/// The file of the token, in the state directory.
const TOKEN: &str = "serve-token";

/// Address, port and other settings of the server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub bind: IpAddr,
    /// The port; 0 takes any free one.
    pub port: u16,
    pub remote: RemoteAccess,
    /// The plan file, where another one than the project's is meant.
    pub plan: Option<PathBuf>,
    /// Forget the links that were printed before.
    pub new_token: bool,
}

/// Server that listens on its address. [`WebServer::run`] answers the requests.
pub struct WebServer {
    listener: TcpListener,
    guard: RequestGuard,
    site: Arc<ServerContext>,
    stop: Arc<AtomicBool>,
}

impl WebServer {
    /// Listen. Nothing is answered before [`WebServer::run`].
    pub fn bind(
        project: Project,
        store: LedgerStore,
        clock: Clock,
        ids: IdSource,
        env: Vec<(OsString, OsString)>,
        options: ServerOptions,
    ) -> Result<Self, ServeError> {
        if !is_local(options.bind) && options.remote == RemoteAccess::Refuse {
            return Err(ServeError::Remote(options.bind));
        }
        let path = project.state_dir().join(TOKEN);
        let token = if options.new_token { new_secret(&path)? } else { keep_secret(&path)? };
        let address = SocketAddr::new(options.bind, options.port);
        let failed = |source| ServeError::Bind { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let guard = RequestGuard::new(listener.local_addr().map_err(failed)?, token);
        let site = ServerContext::new(project, store, clock, ids, options.plan, env);
        // Whoever opens the link waits for no history, however long it is.
        drop(site.feed.fresh());
        let stop = Arc::new(AtomicBool::new(false));
        Ok(Self { listener, guard, site: Arc::new(site), stop })
    }

    /// The link that a person opens; it has the token in it.
    pub fn link(&self) -> String {
        self.guard.link()
    }

    /// Return the address of the dashboard without the token.
    pub fn address(&self) -> String {
        format!("http://{}/", self.guard.shown())
    }

    /// A page on the disk that only its owner can read and that leads to the link: a program that is
    /// started with the link itself would show it to every user of the machine.
    pub fn door(&self) -> Result<PathBuf, ServeError> {
        let path = self.site.project.state_dir().join("serve-open.html");
        let link = self.link();
        let page = format!(
            "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0;url={link}\">\
             <title>ralph</title><p><a href=\"{link}\">ralph</a>\n"
        );
        put_private(&path, page.as_bytes())?;
        Ok(path)
    }

    /// Ends the server when it is set and one more connection comes.
    pub fn stopper(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Answer requests until it is stopped.
    pub fn run(self) {
        let open = Arc::new(AtomicUsize::new(0));
        let (site, stop) = (Arc::clone(&self.site), Arc::clone(&self.stop));
        let watch = thread::Builder::new().name("web-watch".into()).spawn(move || {
            watch(&site, &stop);
        });
        for stream in self.listener.incoming() {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let Ok(mut stream) = stream else {
                // Too many open files, perhaps: it passes.
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            let _unset = stream.set_write_timeout(Some(limits::WRITE));
            let _unset = stream.set_nodelay(true);
            let place = ConnectionSlot::take(&open);
            let Some(place) = place else {
                let full = HttpResponse::new(503, "text/plain", "too many connections\n");
                full.write(&mut stream, HttpMethod::Get);
                continue;
            };
            let (site, guard) = (Arc::clone(&self.site), self.guard.clone());
            let stop = Arc::clone(&self.stop);
            let _refused = thread::Builder::new().name("web".into()).spawn(move || {
                let _place = place;
                serve(&mut stream, &site, &guard, &stop);
            });
        }
        self.stop.store(true, Ordering::Relaxed);
        drop(watch.map(thread::JoinHandle::join));
    }
}

/// One of the connections that there may be.
struct ConnectionSlot(Arc<AtomicUsize>);

impl ConnectionSlot {
    fn take(open: &Arc<AtomicUsize>) -> Option<Self> {
        let place = Self(Arc::clone(open));
        (open.fetch_add(1, Ordering::Relaxed) < limits::CONNECTIONS).then_some(place)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One request, from its first byte to the last of its answer.
fn serve(stream: &mut TcpStream, site: &ServerContext, guard: &RequestGuard, stop: &AtomicBool) {
    let request = match HttpRequest::read(stream) {
        Ok(request) => request,
        Err(HttpReadError::Gone) => return,
        Err(HttpReadError::Refused(status, words)) => {
            return HttpRefusal::new(status, words).response().write(stream, HttpMethod::Get);
        }
    };
    let method = request.method;
    match guard.admit(&request) {
        RequestAdmission::Refuse(response) => response.write(stream, method),
        RequestAdmission::Enter if method.is_change() && is_backend(stream, site) => {
            let words = "this comes from inside an attempt, and only a person may change something";
            HttpRefusal::new(403, words).response().write(stream, method);
        }
        RequestAdmission::Enter if routes::is_stream(&request) => {
            sse::tell(stream, site, &request, stop)
        }
        RequestAdmission::Enter => routes::answer(site, &request).write(stream, method),
    }
}

/// Whether a request comes from a process that the running loop has started: a backend can read the
/// token.
fn is_backend(stream: &TcpStream, site: &ServerContext) -> bool {
    match site.running() {
        LoopProcess::Pid(pid) => is_peer_started_by(pid, stream),
        LoopProcess::Nobody => false,
    }
}

/// Look at the journal and the other files, often while somebody watches and seldom otherwise.
fn watch(site: &ServerContext, stop: &AtomicBool) {
    let mut around = None;
    let mut length = (String::new(), 0);
    let mut looked = Instant::now();
    // Whoever opens the page first does not wait for a long journal to be read.
    drop(site.feed.fresh());
    let mut ears = FileWatch::on(vec![journal_file(&site.project.state_dir())]);
    while !stop.load(Ordering::Relaxed) {
        if ears.changed(limits::LOOK) {
            thread::sleep(limits::GATHER);
        }
        if site.feed.known().watchers == 0 {
            continue;
        }
        let speaker = site.feed.fresh().speaker();
        if looked.elapsed() < limits::LOOK_AROUND {
            continue;
        }
        looked = Instant::now();
        let now = site.around();
        let grown = speaker.map(|of| {
            let items = site.log_length(&of);
            (of.id, items)
        });
        let grown = grown.unwrap_or_default();
        if around.as_ref() != Some(&now) || grown != length {
            site.feed.touch();
        }
        around = Some(now);
        length = grown;
    }
}

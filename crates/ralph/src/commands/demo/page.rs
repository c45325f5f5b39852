//! `ralph demo --web`: the dashboard beside the demo, and after it until somebody says stop.

use std::io::{self, IsTerminal};
use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::Duration;

use ralph_host::proc::{CancelToken, InterruptListener, open_in_browser};
use ralph_web::{RemoteAccess, ServerOptions, WebServer};

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

/// A browser needs a moment before there is something to see.
const MOMENT: Duration = Duration::from_secs(3);
/// Time between two looks for a request to stop.
const NAP: Duration = Duration::from_millis(100);

/// Dashboard that the demo serves until the user stops it.
pub(super) struct DemoDashboard {
    link: String,
}

impl DemoDashboard {
    /// Serve the dashboard of this project from now on, and show it where there is somebody to see it.
    pub(super) fn open(context: &CommandContext) -> Result<Self, CommandError> {
        let options = ServerOptions {
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            remote: RemoteAccess::Refuse,
            plan: None,
            new_token: true,
        };
        let (project, env) = (context.project.clone(), std::env::vars_os().collect());
        let (clock, ids) = (context.clock(), context.ids());
        let server = WebServer::bind(project, context.store(), clock, ids, env, options)?;
        let (link, door) = (server.link(), server.door()?);
        thread::Builder::new()
            .name("demo-web".into())
            .spawn(move || server.run())
            .map_err(|e| CommandError::new(format!("cannot serve the dashboard: {e}")))?;
        out::line(format!("Dashboard: {link}"))?;
        let seen = io::stdin().is_terminal() && io::stdout().is_terminal();
        if !seen || open_in_browser(&door).is_err() {
            out::line("Open this link in a browser to watch it there.")?;
        }
        out::line("")?;
        if seen {
            thread::sleep(MOMENT);
        }
        Ok(Self { link })
    }

    pub(super) fn until_told(&self) -> Result<(), CommandError> {
        // The loop is over, and with it its own way to hear signals.
        let stop = InterruptListener::cancels(&CancelToken::default())
            .map_err(|e| CommandError::new(format!("cannot listen for signals: {e}")))?;
        out::line(format!("\nThe dashboard is at {}\nCtrl-C ends it.", self.link))?;
        while stop.exit_code().is_none() {
            thread::sleep(NAP);
        }
        Ok(())
    }
}

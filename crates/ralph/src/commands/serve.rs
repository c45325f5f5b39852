//! `ralph serve`: the dashboard in a browser.

use std::net::{IpAddr, Ipv4Addr};

use clap::Args;
use ralph_host::proc::open_in_browser;
use ralph_web::{RemoteAccess, ServerOptions, WebServer};
use serde_json::json;

use crate::args::CommonArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Show everything that runs in a browser, and steer it from there
///
/// Serves one page and its API on this machine alone, works beside a running loop and before one, and
/// ends with ctrl-c, which stops no loop. The link has a token in it that opens the dashboard: give it
/// to nobody who may not steer ralph. The token stays the same until --new-token.
///
/// Examples:
///   ralph serve
///   ralph serve --port 0 --open
///   ralph serve --json | jq -r .link
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The port; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 7878)]
    port: u16,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// Let other machines in, which --bind alone does not: unencrypted, for whoever has the link
    #[arg(long)]
    allow_remote: bool,
    /// Make a new token; links that were printed before open nothing any more
    #[arg(long)]
    new_token: bool,
    /// Open the page in a browser
    #[arg(long)]
    open: bool,
}

pub(crate) fn run(context: &CommandContext, args: &ServeArgs) -> Result<(), CommandError> {
    let options = ServerOptions {
        bind: args.bind,
        port: args.port,
        remote: if args.allow_remote { RemoteAccess::Allow } else { RemoteAccess::Refuse },
        plan: args.common.plan.plan.as_ref().map(|plan| context.directory.join(plan)),
        new_token: args.new_token,
    };
    let server = WebServer::bind(
        context.project.clone(),
        context.store(),
        context.clock(),
        context.ids(),
        std::env::vars_os().collect(),
        options,
    )?;
    let link = server.link();
    match args.common.render() {
        OutputMode::Json => out::json(&json!({ "link": link, "address": server.address() }))?,
        OutputMode::People => {
            out::line(format!("Dashboard: {link}"))?;
            out::line("Whoever has this link can steer ralph. Ctrl-C ends the dashboard alone.")?;
        }
    }
    if !args.bind.is_loopback() {
        out::warn("other machines can reach this server, and nothing is encrypted on the way");
    }
    if args.open && open_in_browser(&server.door()?).is_err() {
        out::warn("no browser could be started: open the link yourself");
    }
    server.run();
    Ok(())
}

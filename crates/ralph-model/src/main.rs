//! The scripted model server by hand: `ralph-model SCENARIO.json [PORT]`.
//!
//! Prints its address, then each call as a line of JSON, until standard input is closed.

use std::io::{self, Read};
use std::process::ExitCode;
use std::time::Duration;
use std::{env, fs, thread};

use ralph_model::{Scenario, Server};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("ralph-model: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut args = env::args().skip(1);
    let path = args.next().ok_or("usage: ralph-model SCENARIO.json [PORT]")?;
    let port = args.next().unwrap_or("0".into());
    let port = port.parse().map_err(|_| format!("{port} is no port"))?;
    let text = fs::read_to_string(&path).map_err(|e| format!("cannot read {path}: {e}"))?;
    let scenario = Scenario::parse(&text).map_err(|e| format!("{path}: {e}"))?;
    let server = Server::start_at(scenario, port).map_err(|e| format!("cannot listen: {e}"))?;
    println!("{}", server.url());
    let end = thread::spawn(|| {
        // Whatever comes, only its end matters.
        let _closed = io::stdin().read_to_end(&mut Vec::new());
    });
    let mut shown = 0;
    while !end.is_finished() {
        let requests = server.requests();
        for request in requests.iter().skip(shown) {
            println!("{}", request.to_json());
        }
        shown = requests.len();
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

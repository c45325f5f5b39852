//! `ralph watch` in a real terminal: util-linux's `script` makes one.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::desk::{Desk, desk};
use crate::repo::{says, until};

/// A view in a terminal of its own; keys go in through a pipe.
struct Screen {
    child: Child,
    log: std::path::PathBuf,
}

impl Screen {
    fn open(desk: &Desk) -> Self {
        let log = desk.home().join("screen");
        let ralph = env!("CARGO_BIN_EXE_ralph");
        let line = format!("stty rows 30 cols 100; {ralph} watch; echo LE''FT $?; stty -a");
        let child = Command::new("script")
            .args(["-qfec", &line])
            .arg(&log)
            .current_dir(desk.root())
            .env("HOME", desk.home())
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .env_remove("RALPH_NOW")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("util-linux has `script`");
        Self { child, log }
    }

    fn press(&mut self, keys: &str) {
        use std::io::Write;
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Whether words stand there. A screen is drawn in pieces, with moves of the cursor for blanks.
    fn has(&self, part: &str) -> bool {
        let mut words = String::new();
        let mut rest = self.shown();
        while let Some((before, after)) = rest.split_once("\x1b[") {
            words.push_str(before);
            words.push(' ');
            let end =
                after.find(|c: char| ('@'..='~').contains(&c)).map_or(after.len(), |at| at + 1);
            rest = after[end..].to_owned();
        }
        words.push_str(&rest);
        words.split_whitespace().collect::<Vec<_>>().join(" ").contains(part)
    }

    /// It ended, and the terminal is as it was.
    fn left_it_clean(mut self) {
        until(|| self.has("LEFT ") && self.has("icanon"));
        self.child.wait().unwrap();
        let shown = self.shown();
        let after = shown.split("LEFT ").nth(1).unwrap();
        assert!(shown.contains("\x1b[?1049l"), "the old screen is back");
        assert!(shown.contains("\x1b[?25h"), "the cursor is back");
        assert!(after.contains(" echo") && after.contains(" icanon"), "{after}");
    }
}

#[test]
fn a_loop_in_another_terminal_is_seen_and_steered() {
    let desk = desk();
    let run = desk.at_work();
    let mut screen = Screen::open(&desk);
    until(|| screen.has("t-aaa1") && screen.has("nothing from you"));
    screen.press("p");
    desk.taken("pause");
    screen.press("nmind the gap\r");
    desk.taken("inject-note");
    screen.press("r");
    desk.taken("resume");
    screen.press("xy");
    desk.taken("stop");
    desk.go();
    says(&run.wait().fails(4), "asked to stop");
    screen.press("q");
    screen.left_it_clean();
    let mut screen = Screen::open(&desk);
    until(|| screen.has("the last ralph build ended: stopped"));
    screen.press("q");
    screen.left_it_clean();
}

#[test]
fn a_view_that_is_terminated_leaves_a_clean_terminal() {
    let desk = desk();
    let screen = Screen::open(&desk);
    until(|| screen.has("nothing has run here yet"));
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let find = format!("pgrep -P $(pgrep -P {}) -f '{ralph} watch'", screen.child.id());
    let pid = desk.shell(&find).stdout.trim().to_owned();
    desk.shell(&format!("kill -TERM {pid}")).ok();
    screen.left_it_clean();
}

#[test]
fn without_a_terminal_the_view_says_what_to_use_instead() {
    let desk = desk();
    let run = desk.run(["watch"]).fails(1);
    says(&run, "ralph status");
}

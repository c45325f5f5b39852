//! `ralph watch` in a real terminal: util-linux's `script` makes one.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::desk::{Desk, desk};
use crate::grid::rows;
use crate::repo::{says, until};

/// A view in a terminal of its own; keys go in through a pipe.
struct Screen {
    child: Child,
    log: std::path::PathBuf,
}

impl Screen {
    fn open(desk: &Desk) -> Self {
        Self::of(desk, "watch")
    }

    /// Any command of ralph in a terminal.
    fn of(desk: &Desk, command: &str) -> Self {
        Self::with(desk, "", command)
    }

    /// The same with a variable of its own.
    fn with(desk: &Desk, setting: &str, command: &str) -> Self {
        let log = desk.home().join("screen");
        let ralph = env!("CARGO_BIN_EXE_ralph");
        let line =
            format!("stty rows 30 cols 100; {setting} {ralph} {command}; echo LE''FT $?; stty -a");
        let child = Command::new("script")
            .args(["-qfec", &line])
            .arg(&log)
            .current_dir(desk.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", desk.home())
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .envs(["AUTHOR", "COMMITTER"].map(|role| (format!("GIT_{role}_NAME"), "Tess Ter")))
            .envs(
                ["AUTHOR", "COMMITTER"].map(|role| (format!("GIT_{role}_EMAIL"), "t@example.com")),
            )
            .env("RALPH_SIM", desk.home().join("scenario.toml"))
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

    /// Whether words stand there now, wherever lines end.
    fn has(&self, part: &str) -> bool {
        let rows = rows(&self.shown()).join(" ");
        rows.split_whitespace().collect::<Vec<_>>().join(" ").contains(part)
    }

    /// It ended with this code, and the terminal is as it was. Returns all that was shown.
    fn left_clean_with(self, code: u8) -> String {
        until(|| self.has(&format!("LEFT {code}")));
        let shown = self.shown();
        self.left_clean();
        shown
    }

    /// It ended, and the terminal is as it was.
    fn left_clean(mut self) {
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
    screen.left_clean();
    let mut screen = Screen::open(&desk);
    until(|| screen.has("ralph build ended: stopped"));
    screen.press("q");
    screen.left_clean();
}

#[test]
fn a_view_that_is_terminated_leaves_a_clean_terminal() {
    let desk = desk();
    let screen = Screen::open(&desk);
    until(|| screen.has("No loop has run here yet"));
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let find = format!("pgrep -P $(pgrep -P {}) -f '{ralph} watch'", screen.child.id());
    let pid = desk.shell(&find).stdout.trim().to_owned();
    desk.shell(&format!("kill -TERM {pid}")).ok();
    screen.left_clean();
}

#[test]
fn a_loop_with_its_own_screen_goes_on_when_the_screen_is_closed() {
    let desk = desk();
    let mut screen = Screen::of(&desk, "build --tui --max-cost 3");
    until(|| screen.has("sim works on t-aaa1") && screen.has("of $3.00"));
    screen.press("q");
    until(|| screen.has("the loop goes on here"));
    desk.go();
    let shown = screen.left_clean_with(0);
    let after = shown.rsplit("\x1b[?1049l").next().unwrap();
    assert!(after.contains("[1] ") && after.contains("t-aaa2"), "the story stands there: {after}");
    assert_eq!(desk.landed(), ["t-aaa1", "t-aaa2"]);
}

#[test]
fn a_screen_closes_with_its_loop_and_the_end_is_told() {
    let desk = desk();
    let mut screen = Screen::of(&desk, "build --tui");
    until(|| screen.has("sim works on t-aaa1"));
    screen.press("xy");
    desk.taken("stop");
    until(|| screen.has("then the loop ends"));
    desk.go();
    let shown = screen.left_clean_with(4);
    let after = shown.rsplit("\x1b[?1049l").next().unwrap();
    assert!(after.contains("asked to stop"), "{after}");
}

#[test]
fn ctrl_c_on_the_screen_of_a_loop_ends_the_loop_after_its_attempt() {
    let desk = desk();
    let mut screen = Screen::of(&desk, "build --tui");
    until(|| screen.has("sim works on t-aaa1"));
    screen.press("\x03");
    until(|| screen.has("Stopping after this attempt"));
    desk.go();
    screen.left_clean_with(130);
    assert_eq!(desk.landed(), ["t-aaa1"]);
}

#[test]
fn signals_that_do_not_stop_leave_a_clean_terminal() {
    let desk = desk();
    let screen = Screen::of(&desk, "build --tui");
    until(|| screen.has("sim works on t-aaa1"));
    let pid = desk.shell("sed -n 1p .git/ralph/run.lock").stdout.trim().to_owned();
    desk.shell(&format!(
        "for n in $(seq 300); do kill -TERM {pid} 2>/dev/null || exit 0; sleep 0.1; done"
    ))
    .ok();
    screen.left_clean();
}

/// A loop that panics while its screen is open.
fn panicked() -> (Desk, Screen) {
    for point in (10..200).step_by(10) {
        let desk = desk();
        let setting = format!("RALPH_CRASH_POINT=panic:{point}");
        let screen = Screen::with(&desk, &setting, "build --tui");
        until(|| screen.has("sim works on t-aaa1") || screen.has("LEFT "));
        // A point before that one was too early: the screen was not open yet.
        if screen.has("sim works on t-aaa1") {
            desk.go();
            until(|| screen.has("LEFT "));
            return (desk, screen);
        }
    }
    panic!("the points are gone");
}

#[test]
fn a_panic_of_a_loop_with_a_screen_leaves_a_clean_terminal_and_says_what_happened() {
    let (_desk, screen) = panicked();
    let shown = screen.left_clean_with(1);
    let after = shown.rsplit("\x1b[?1049l").next().unwrap();
    assert!(after.contains("ralph made a mistake"), "on the old screen: {after}");
}

#[test]
fn a_screen_needs_a_terminal_and_fits_no_other_view() {
    let desk = desk();
    says(&desk.run(["build", "--tui"]).fails(1), "no terminal");
    for other in ["--json", "--quiet", "--dry-run"] {
        desk.run(["build", "--tui", other]).fails(2);
    }
    assert!(desk.records("run_started").is_empty());
}

#[test]
fn without_a_terminal_the_view_says_what_to_use_instead() {
    let desk = desk();
    let run = desk.run(["watch"]).fails(1);
    says(&run, "ralph status");
}

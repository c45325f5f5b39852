//! The terminal: taken, drawn on, and given back whatever happens.

use std::io::{self, Stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ralph_host::drive::ReceivedSignals;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};

use super::WatchSource;
use super::app::{WatchAction, WatchApp, WatchKey, WatchRole};
use super::draw::draw;
use crate::line::Paint;

/// Time between two looks for new data.
const LOOK: Duration = Duration::from_millis(250);
/// Time between two checks whether the view must end.
const BLINK: Duration = Duration::from_millis(50);

/// Set while the view has taken over the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Give the terminal back, if it was taken. Called on every way out, a panic included.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Nobody can be told that the terminal is gone.
        let _ = disable_raw_mode();
        let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
    }
}

struct TakenTerminal;

impl TakenTerminal {
    fn take() -> io::Result<(Self, Terminal<CrosstermBackend<Stdout>>)> {
        ReceivedSignals::before_exit(restore);
        TAKEN.store(true, Ordering::SeqCst);
        let taken = Self;
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        Ok((taken, Terminal::new(CrosstermBackend::new(io::stdout()))?))
    }
}

impl Drop for TakenTerminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Reason why the full-screen view ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenEnd {
    Quit,
    Interrupted,
    /// There is nothing more to look at.
    Over,
}

/// Show the view until somebody leaves it, or until it is over.
pub fn run(
    source: &mut dyn WatchSource,
    paint: Paint,
    role: WatchRole,
    over: &dyn Fn() -> bool,
) -> io::Result<ScreenEnd> {
    let mut app = WatchApp::new(role);
    refresh(&mut app, source);
    let (_taken, mut terminal) = TakenTerminal::take()?;
    let mut looked = Instant::now();
    let mut stale = true;
    while !over() {
        if stale {
            terminal.draw(|frame| draw(frame, &mut app, paint))?;
            stale = false;
        }
        if event::poll(LOOK.saturating_sub(looked.elapsed()).min(BLINK))? {
            stale = true;
            if let Some(act) = key_of(&event::read()?).and_then(|key| app.press(key)) {
                match act {
                    WatchAction::Quit => return Ok(ScreenEnd::Quit),
                    WatchAction::Interrupt => return Ok(ScreenEnd::Interrupted),
                    WatchAction::Send(command) => {
                        let said = source.send(command);
                        app.say(said);
                    }
                    WatchAction::Detail(task) => {
                        let lines = source.detail(&task);
                        app.set_detail(task, lines);
                    }
                }
            }
        }
        // Also under somebody's held key things go on.
        if looked.elapsed() >= LOOK {
            refresh(&mut app, source);
            looked = Instant::now();
            stale = true;
        }
    }
    Ok(ScreenEnd::Over)
}

fn refresh(app: &mut WatchApp, source: &mut dyn WatchSource) {
    app.set_board(source.board());
    if let Some(task) = app.outdated().map(str::to_owned) {
        let lines = source.detail(&task);
        app.set_detail(task, lines);
    }
    if let Some(lines) = source.output() {
        app.set_output(lines);
    }
}

fn key_of(event: &Event) -> Option<WatchKey> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if *kind == KeyEventKind::Release {
        return None;
    }
    let control = modifiers.contains(KeyModifiers::CONTROL);
    Some(match code {
        // In this mode the terminal sends no signal.
        KeyCode::Char('c' | 'd') if control => WatchKey::Leave,
        KeyCode::Char(c) => WatchKey::Char(*c),
        KeyCode::Enter => WatchKey::Enter,
        KeyCode::Esc => WatchKey::Escape,
        KeyCode::Backspace => WatchKey::Backspace,
        KeyCode::Tab | KeyCode::BackTab => WatchKey::Tab,
        KeyCode::Up => WatchKey::Up,
        KeyCode::Down => WatchKey::Down,
        KeyCode::PageUp => WatchKey::PageUp,
        KeyCode::PageDown => WatchKey::PageDown,
        KeyCode::Home => WatchKey::Home,
        KeyCode::End => WatchKey::End,
        _ => return None,
    })
}

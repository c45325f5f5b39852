//! The full-screen view on screens of all sizes, and what its keys do.

use ralph_core::control::Command;
use ralph_core::plan::Id;
use ralph_core::view::{Glance, Health, Tally};
use ralph_face::watch::{Act, App, Board, Colours, Key, TaskRow, draw};
use ralph_face::{Line, Style};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

fn board() -> Board {
    let task = |id: &str, state: &str, name: &str, attempts, style| TaskRow {
        id: id.into(),
        state: state.into(),
        name: name.into(),
        attempts,
        style,
    };
    Board {
        glance: Glance {
            doing: "t-7jla  Resize pictures (画像の縮小): claude works, retry 1".into(),
            since: None,
            tally: Tally { pending: 2, accepted: 2, blocked: 1, ..Tally::default() },
            health: Health::Caution,
            why: "the last 2 attempts failed".into(),
            spent: 0.12,
            spent_unknown: false,
            limit: Some(5.0),
            spent_ever: 3.5,
            needs: vec!["t-key0: blocked: no API key".into(), "t-odd0: failed".into()],
        },
        seconds: Some(75),
        plan: "ralph/plan.jsonl".into(),
        tasks: vec![
            task("t-wei0", "accepted", "Read pictures", 1, Style::Good),
            task("t-7jla", "running", "Resize pictures", 3, Style::Strong),
            task("t-key0", "blocked", "Upload to the bucket", 1, Style::Bad),
        ],
    }
}

fn app() -> App {
    let mut app = App::default();
    app.set_board(board());
    app.set_output((1..=30).map(|n| Line::of(Style::Plain, format!("line {n}"))).collect());
    app
}

fn screen(app: &mut App, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, app, Colours::None)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..rows {
        let mut skip = 0;
        let mut line = String::new();
        for x in 0..columns {
            let symbol = buffer[(x, y)].symbol();
            if skip > 0 {
                skip -= 1;
                continue;
            }
            skip = ralph_face::text::width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn keys(app: &mut App, keys: &str) -> Option<Act> {
    keys.chars().fold(None, |act, c| app.press(Key::Char(c)).or(act))
}

#[test]
fn one_screen_answers_the_five_questions() {
    insta::assert_snapshot!(screen(&mut app(), 90, 16), @r#"
now     t-7jla  Resize pictures (画像の縮小): claude works, retry 1  1m 15s
far     [########!!!!!---------] 2 of 5 tasks, 1 stuck  ralph/plan.jsonl
health  look: the last 2 attempts failed
cost    $0.12 of $5.00; $3.50 here so far
needs   t-key0: blocked: no API key  and 1 more
* Tasks (3) ────────────────── Output ────────────────────────────────────────────────────
>accepted t-wei0 Read pictur… line 22
 running  t-7jla x3 Resize p… line 23
 blocked  t-key0 Upload to t… line 24
                              line 25
                              line 26
                              line 27
                              line 28
                              line 29
                              line 30
p pause  r resume  s skip  n note  x stop  / search  Enter detail  ? help  q quit
"#);
}

#[test]
fn a_narrow_screen_shows_one_pane_at_a_time() {
    let mut app = app();
    let tasks = screen(&mut app, 40, 14);
    assert!(tasks.contains("* Tasks (3)") && !tasks.contains("Output"), "{tasks}");
    app.press(Key::Tab);
    let output = screen(&mut app, 40, 14);
    assert!(output.contains("* Output") && output.contains("line 30"), "{output}");
}

#[test]
fn no_size_is_too_small_to_draw_on() {
    for (columns, rows) in [(1, 1), (10, 2), (23, 6), (24, 5), (24, 6), (70, 6), (200, 3), (69, 60)]
    {
        for key in [Key::Char('?'), Key::Enter, Key::Char('n'), Key::Tab] {
            let mut app = app();
            app.press(key);
            screen(&mut app, columns, rows);
        }
    }
    assert!(screen(&mut app(), 20, 3).starts_with("now     t-7jla"));
}

#[test]
fn keys_steer_and_what_cannot_be_taken_back_is_asked_first() {
    let mut app = app();
    assert_eq!(keys(&mut app, "p"), Some(Act::Send(Command::Pause)));
    assert_eq!(keys(&mut app, "r"), Some(Act::Send(Command::Resume)));
    assert_eq!(keys(&mut app, "xn"), None, "no means no");
    assert_eq!(keys(&mut app, "xy"), Some(Act::Send(Command::Stop)));
    assert_eq!(keys(&mut app, "Ky"), Some(Act::Send(Command::KillAttempt)));
    assert_eq!(keys(&mut app, "jsy"), Some(Act::Send(Command::Skip(Id::new("t-7jla")))));
    assert_eq!(keys(&mut app, "nquiet please"), None, "a text has letters, not keys");
    assert_eq!(app.press(Key::Enter), Some(Act::Send(Command::Note("quiet please".into()))));
    assert_eq!(keys(&mut app, "?q"), None, "any key closes the help");
    assert_eq!(keys(&mut app, "q"), Some(Act::Quit));
    assert_eq!(app.press(Key::Leave), Some(Act::Quit));
}

#[test]
fn output_can_be_scrolled_back_and_followed_again() {
    let mut app = app();
    app.press(Key::Tab);
    assert!(screen(&mut app, 90, 16).contains("line 30"));
    app.press(Key::Home);
    let top = screen(&mut app, 90, 16);
    assert!(top.contains("line 1\n") && top.contains("held"), "{top}");
    app.set_output((1..=40).map(|n| Line::of(Style::Plain, format!("line {n}"))).collect());
    assert!(screen(&mut app, 90, 16).contains("line 1\n"), "new lines do not move what is read");
    app.press(Key::End);
    assert!(screen(&mut app, 90, 16).contains("line 40"));
}

#[test]
fn a_search_finds_and_goes_on_from_there() {
    let mut app = app();
    keys(&mut app, "/line 2");
    app.press(Key::Enter);
    screen(&mut app, 90, 16);
    keys(&mut app, ".");
    let first = screen(&mut app, 90, 16);
    assert!(first.lines().nth(6).unwrap().contains("line 2"), "{first}");
    keys(&mut app, ".");
    assert!(screen(&mut app, 90, 16).lines().nth(6).unwrap().contains("line 20"));
    keys(&mut app, ",");
    assert!(screen(&mut app, 90, 16).lines().nth(6).unwrap().contains("line 2"));
}

#[test]
fn details_take_the_place_of_the_output_until_escape() {
    let mut app = app();
    assert_eq!(app.press(Key::Enter), Some(Act::Detail("t-wei0".into())));
    app.set_detail("t-wei0".into(), vec![Line::of(Style::Good, "+added")]);
    let detail = screen(&mut app, 90, 16);
    assert!(detail.contains("+added") && !detail.contains("line 30"), "{detail}");
    app.press(Key::Escape);
    assert!(screen(&mut app, 90, 16).contains("line 30"));
}

#[test]
fn without_colours_nothing_is_coloured_and_with_them_words_stay() {
    let colours = |colours| {
        let mut terminal = Terminal::new(TestBackend::new(90, 16)).unwrap();
        terminal.draw(|frame| draw(frame, &mut app(), colours)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        buffer.content().iter().filter(|cell| cell.fg != Color::Reset).count()
    };
    assert_eq!(colours(Colours::None), 0);
    assert!(colours(Colours::Theme) > 10);
}

#[test]
fn the_selected_task_stays_selected_when_others_come() {
    let mut app = app();
    app.press(Key::Down);
    assert_eq!(app.task(), Some("t-7jla"));
    let mut new = board();
    let first = new.tasks[0].clone();
    new.tasks.insert(0, TaskRow { id: "t-new0".into(), ..first });
    app.set_board(new);
    assert_eq!(app.task(), Some("t-7jla"));
    app.set_board(Board { tasks: Vec::new(), ..board() });
    assert_eq!(app.task(), None);
}

//! The full-screen view on screens of all sizes, and what its keys do.

#![expect(clippy::unwrap_used, reason = "a test may end in a panic")]

use ralph_core::config::{Config, GateSettings, Timeout};
use ralph_core::control::LoopCommand;
use ralph_core::cycle::{History, JournalEntry};
use ralph_core::dashboard::{
    BackendMeter, DashboardSources, GateState, LoopProcess, TaskCard, board, state,
};
use ralph_core::format::{PlanFormat, codec};
use ralph_core::needs::NeedSources;
use ralph_core::plan::Id;
use ralph_face::watch::{WatchAction, WatchApp, WatchBoard, WatchKey, WatchRole, draw};
use ralph_face::{Paint, ScreenLine, ScreenStyle};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use serde_json::{Value, json};

const PLAN: &str = r#"{"t":"spec","spec":"pictures.md"}
{"t":"task","id":"t-7jla","spec":"pictures.md","name":"Resize pictures (画像の縮小)","s":"p"}
{"t":"task","id":"t-key0","spec":"pictures.md","name":"Upload to the bucket","s":"p","blocked":"no API key"}
{"t":"task","id":"t-odd0","spec":"pictures.md","name":"Sign the upload","s":"p","deps":["t-gone"]}
{"t":"task","id":"t-web0","spec":"pictures.md","name":"Show them","s":"p","deps":["t-7jla"]}
{"t":"accept","id":"t-wei0","spec":"pictures.md","name":"Read pictures","done_at":"x","at":"2025-01-20T09:00:00Z"}
"#;

/// A run with a budget whose second attempt is under way since 75 seconds.
fn story() -> Vec<Value> {
    let started = |id: &str, n: u32, retries: u32| {
        json!({"at": "2025-01-20T10:28:45Z", "record": "attempt_started", "attempt": id, "run": "r",
            "iteration": n, "task_id": "t-7jla", "name": "Resize pictures (画像の縮小)",
            "retry": retries, "backend": "claude", "base": {"keeper": "r", "attempt": "a", "commit": "0000000000000000000000000000000000000000"}})
    };
    vec![
        json!({"record": "run_started", "run": "r", "command": "build", "plan": "ralph/plan.jsonl",
            "mode": "handoff-only",
            "budget": {"max_cost": 5.0, "max_iterations": 20, "timeout_s": 1800}}),
        started("a", 1, 0),
        json!({"record": "backend_ended", "attempt": "a", "outcome": "success", "claim": {"kind": "done"}, "candidate": {"paths": []}, "changed_files": 2, "cost_usd": 0.08,
            "duration_ms": 4000}),
        json!({"record": "judged", "attempt": "a", "ruling": {"refused": {}}, "checks": [{"name": "test",
            "standing": "new", "new": {"names": []}, "old": {"names": []}}]}),
        json!({"record": "fail_intent", "attempt": "a", "retries": 1,
            "failure": {"kind": "gates", "message": "test failed"}}),
        json!({"record": "rolled_back", "attempt": "a", "salvage": null}),
        started("b", 2, 1),
    ]
}

fn board_of(records: &[Value], running: LoopProcess) -> WatchBoard {
    board_with(records, running, PLAN)
}

fn board_with(records: &[Value], running: LoopProcess, plan: &str) -> WatchBoard {
    let entries = records.iter().map(|record| {
        let mut record = record.clone();
        if record["at"].is_null() {
            record["at"] = json!("2025-01-20T10:20:00Z");
        }
        serde_json::from_value::<JournalEntry>(record).unwrap()
    });
    let history = History::of(&entries.collect::<Vec<_>>());
    let plan = codec(PlanFormat::Jsonl).parse(plan).unwrap();
    let gate = |name: &str| GateSettings {
        name: name.into(),
        command: format!("make {name}"),
        kind: None,
        required: None,
        timeout: Timeout::minutes(1),
    };
    let config = Config { gates: vec![gate("fmt"), gate("test")], ..Config::default() };
    let meter = BackendMeter { used: Some(90_000), window: Some(200_000), cost: Some(0.04) };
    let state = state(&DashboardSources {
        now: "2025-01-20T10:30:00Z",
        project: "pictures",
        config: &config,
        meter,
        sources: NeedSources {
            damage: &[],
            plan_file: "ralph/plan.jsonl",
            history: &history,
            plan: &plan,
            inbox: &[],
            running: &running,
        },
    });
    WatchBoard { state, tasks: board(&plan, &history, &running, 0, 100).tasks }
}

fn now() -> WatchBoard {
    board_of(&story(), LoopProcess::Pid(7))
}

fn app() -> WatchApp {
    let mut app = WatchApp::new(WatchRole::Guest);
    app.set_board(now());
    app.set_output(
        (1..=30).map(|n| ScreenLine::of(ScreenStyle::Plain, format!("line {n}"))).collect(),
    );
    app
}

fn screen(app: &mut WatchApp, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, app, Paint::None)).unwrap();
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

fn keys(app: &mut WatchApp, keys: &str) -> Option<WatchAction> {
    keys.chars().fold(None, |act, c| app.press(WatchKey::Char(c)).or(act))
}

#[test]
fn one_screen_answers_the_five_questions() {
    insta::assert_snapshot!(screen(&mut app(), 90, 16), @r#"
now     claude works on t-7jla, retry 1 of 2  1m 15s of 30m  Resize pictures (画像の縮小)
done    [####!!!!--------------] 1 of 5 tasks, 1 stuck  iteration 2 of 20  BUILD of pictu…
health  look: 2 tasks need a person
cost    $0.12 of $5.00  context 45 % of 200k tokens  $0.12 here so far
needs   1 of 2: t-key0 is blocked: no API key (`ralph task retry t-key0` gives it another…
* Tasks (5) ────────────────── Output ────────────────────────────────────────────────────
>running  t-7jla x2 Resize p… line 22
 blocked  t-key0 Upload to t… line 23
 pending  t-odd0 Sign the up… line 24
 pending  t-web0 Show them    line 25
 accepted t-wei0 Read pictur… line 26
                              line 27
                              line 28
                              line 29
                              line 30
? keys  q close  p pause  r resume  s skip  n note  x stop  / search  Enter detail
"#);
}

#[test]
fn a_task_that_was_skipped_or_removed_is_not_counted_as_done() {
    let more = "{\"t\":\"delete\",\"id\":\"t-del0\",\"spec\":\"pictures.md\",\"name\":\"No\"}\n";
    let mut app = app();
    app.set_board(board_with(&story(), LoopProcess::Pid(7), &format!("{PLAN}{more}")));
    let shown = screen(&mut app, 90, 16);
    assert!(shown.contains("] 1 of 6 tasks, 1 skipped, 1 stuck"), "{shown}");
}

#[test]
fn a_cost_that_is_not_known_is_counted_and_not_left_out() {
    let mut records = story();
    let end = |attempt: &str| {
        json!({"record": "backend_ended", "attempt": attempt,
        "outcome": "success", "claim": {"kind": "done"}, "candidate": {"paths": []},
        "changed_files": 2, "duration_ms": 4000})
    };
    records.push(end("b"));
    let mut app = app();
    app.set_board(board_of(&records, LoopProcess::Pid(7)));
    let shown = screen(&mut app, 140, 16);
    assert!(shown.contains("$0.08 and 1 run of unknown cost, limit $5.00"), "{shown}");
    assert!(shown.contains("$0.08 and 1 run of unknown cost here so far"), "{shown}");
}

#[test]
fn a_gate_is_seen_while_it_runs() {
    let mut records = story();
    let gate = |record: &str, name: &str| {
        json!({"at": "2025-01-20T10:29:48Z", "record": record, "attempt": "b", "gate": name,
            "on": "result", "passed": true, "duration_ms": 900})
    };
    records.push(json!({"record": "backend_ended", "attempt": "b", "outcome": "success",
        "claim": {"kind": "done"}, "candidate": {"paths": []}, "changed_files": 2,
        "cost_usd": 0.04, "duration_ms": 4000}));
    records.extend([
        gate("gate_started", "fmt"),
        gate("gate_ended", "fmt"),
        gate("gate_started", "test"),
    ]);
    let now = board_of(&records, LoopProcess::Pid(7));
    let states: Vec<_> =
        now.state.attempt.as_ref().unwrap().gates.iter().map(|gate| gate.state).collect();
    assert_eq!(states, [GateState::Passed, GateState::Running]);
    let mut app = app();
    app.set_board(now);
    let first = screen(&mut app, 100, 16).lines().next().unwrap().to_owned();
    assert_eq!(
        first,
        "now     gate 2 of 2, test, checks t-7jla  12s  Resize pictures (画像の縮小)"
    );
}

#[test]
fn what_was_asked_for_and_has_not_happened_yet_is_shown() {
    let command =
        |word: &str| json!({"record": "command", "id": word, "command": word, "argument": null});
    let shown = |more: &[Value]| {
        let mut app = app();
        app.set_board(board_of(&[&story(), more].concat(), LoopProcess::Pid(7)));
        screen(&mut app, 140, 16)
    };
    let paused = shown(&[command("pause")]);
    assert!(paused.contains("claude works on t-7jla, retry 1 of 2, then it pauses"), "{paused}");
    let stops = shown(&[command("stop")]);
    assert!(stops.contains("claude works on t-7jla, retry 1 of 2, then the loop ends"), "{stops}");
}

#[test]
fn a_loop_that_is_gone_says_that_it_needs_a_start() {
    let mut app = app();
    app.set_board(board_of(&story(), LoopProcess::Nobody));
    let gone = screen(&mut app, 140, 16);
    assert!(
        gone.contains("now     ralph build is gone without having said how it ended"),
        "{gone}"
    );
    assert!(gone.contains("health  stopped: "), "{gone}");
    assert!(gone.contains("`ralph build` recovers"), "{gone}");
}

#[test]
fn a_low_screen_still_answers_the_five_questions() {
    insta::assert_snapshot!(screen(&mut app(), 40, 10), @r#"
now     claude works on t-7jla, retry 1…
look  1/5 done, 1 stuck  $0.12 of $5.00
needs   1 of 2: t-key0 is blocked: no A…
* Tasks (5) ────────────────────────────
>running  t-7jla x2 Resize pictures (…
 blocked  t-key0 Upload to the bucket
 pending  t-odd0 Sign the upload
 pending  t-web0 Show them
 accepted t-wei0 Read pictures
? keys  q close  p pause  r resume
"#);
}

#[test]
fn the_keys_can_be_read_on_a_low_screen_too() {
    let mut app = app();
    app.press(WatchKey::Char('?'));
    let top = screen(&mut app, 40, 10);
    assert!(top.contains("p         pause") && !top.contains("q         close"), "{top}");
    for _ in 0..20 {
        app.press(WatchKey::Down);
        screen(&mut app, 40, 10);
    }
    let end = screen(&mut app, 40, 10);
    assert!(end.contains("q         close") && end.contains("Ctrl-C"), "{end}");
    app.press(WatchKey::Escape);
    assert!(!screen(&mut app, 40, 10).contains("Ctrl-C"));
}

#[test]
fn a_narrow_screen_shows_one_pane_at_a_time() {
    let mut app = app();
    let tasks = screen(&mut app, 40, 14);
    assert!(tasks.contains("* Tasks (5)") && !tasks.contains("Output"), "{tasks}");
    app.press(WatchKey::Tab);
    let output = screen(&mut app, 40, 14);
    assert!(output.contains("* Output") && output.contains("line 30"), "{output}");
}

#[test]
fn no_size_is_too_small_to_draw_on() {
    for (columns, rows) in [(1, 1), (10, 2), (23, 6), (24, 5), (24, 6), (70, 6), (200, 3), (69, 60)]
    {
        for key in [WatchKey::Char('?'), WatchKey::Enter, WatchKey::Char('n'), WatchKey::Tab] {
            let mut app = app();
            app.press(key);
            screen(&mut app, columns, rows);
        }
    }
    assert!(screen(&mut app(), 20, 3).starts_with("now     claude work"));
}

#[test]
fn keys_steer_and_what_cannot_be_taken_back_is_asked_first() {
    let mut app = app();
    assert_eq!(keys(&mut app, "p"), Some(WatchAction::Send(LoopCommand::Pause)));
    assert_eq!(keys(&mut app, "r"), Some(WatchAction::Send(LoopCommand::Resume)));
    assert_eq!(keys(&mut app, "xn"), None, "no means no");
    assert_eq!(keys(&mut app, "xy"), Some(WatchAction::Send(LoopCommand::Stop)));
    assert_eq!(keys(&mut app, "Ky"), Some(WatchAction::Send(LoopCommand::KillAttempt)));
    assert_eq!(
        keys(&mut app, "jsy"),
        Some(WatchAction::Send(LoopCommand::Skip(Id::new("t-key0"))))
    );
    assert_eq!(keys(&mut app, "nquiet please"), None, "a text has letters, not keys");
    assert_eq!(
        app.press(WatchKey::Enter),
        Some(WatchAction::Send(LoopCommand::Note("quiet please".into())))
    );
    assert_eq!(keys(&mut app, "?q"), None, "any key closes the help");
    assert_eq!(keys(&mut app, "q"), Some(WatchAction::Quit));
    assert_eq!(app.press(WatchKey::Leave), Some(WatchAction::Interrupt));
}

#[test]
fn output_can_be_scrolled_back_and_followed_again() {
    let mut app = app();
    app.press(WatchKey::Tab);
    assert!(screen(&mut app, 90, 16).contains("line 30"));
    app.press(WatchKey::Home);
    let top = screen(&mut app, 90, 16);
    assert!(top.contains("line 1\n") && top.contains("held"), "{top}");
    app.set_output(
        (1..=40).map(|n| ScreenLine::of(ScreenStyle::Plain, format!("line {n}"))).collect(),
    );
    assert!(screen(&mut app, 90, 16).contains("line 1\n"), "new lines do not move what is read");
    app.press(WatchKey::End);
    assert!(screen(&mut app, 90, 16).contains("line 40"));
}

#[test]
fn a_search_finds_and_goes_on_from_there() {
    let mut app = app();
    keys(&mut app, "/line 2");
    app.press(WatchKey::Enter);
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
    assert_eq!(app.press(WatchKey::Enter), Some(WatchAction::Detail("t-7jla".into())));
    app.set_detail("t-7jla".into(), vec![ScreenLine::of(ScreenStyle::Good, "+added")]);
    let detail = screen(&mut app, 90, 16);
    assert!(detail.contains("+added") && !detail.contains("line 30"), "{detail}");
    app.press(WatchKey::Escape);
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
    assert_eq!(colours(Paint::None), 0);
    assert!(colours(Paint::Ansi) > 10);
}

#[test]
fn the_selected_task_stays_selected_when_others_come() {
    let mut app = app();
    app.press(WatchKey::Down);
    assert_eq!(app.task(), Some("t-key0"));
    let mut new = now();
    let first = new.tasks[0].clone();
    new.tasks.insert(0, TaskCard { id: "t-new0".into(), ..first });
    app.set_board(new);
    assert_eq!(app.task(), Some("t-key0"));
    app.set_board(WatchBoard { tasks: Vec::new(), ..now() });
    assert_eq!(app.task(), None);
}

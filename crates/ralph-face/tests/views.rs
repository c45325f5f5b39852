//! A recorded run as each view shows it.

#![expect(clippy::unwrap_used, reason = "a test may end in a panic")]

mod script;

use std::time::Duration;

use ralph_face::{
    JsonListener, LineView, LineViewDetail, LoopPicture, Paint, Screen, ScreenLine, ScreenSize,
};
use ralph_host::drive::LoopListener;
use serde_json::Value;

fn lines(detail: LineViewDetail) -> String {
    let mut view = LineView::new(Vec::new(), detail);
    script::play(|_, event| view.on_event(event));
    String::from_utf8(view.into_inner()).unwrap()
}

/// The whole screen at these seconds: what has scrolled up, and the block.
fn screen_at(second: f64, columns: usize, paint: Paint) -> String {
    let size = ScreenSize { columns, rows: 30 };
    let mut picture = LoopPicture::new(Some("/p".to_owned()));
    let now = Duration::from_secs_f64(second);
    script::play(|at, event| {
        if at <= now {
            picture.on_event(at, &event.kind);
        }
    });
    let finished: Vec<ScreenLine> =
        picture.take_finished().iter().flat_map(|line| line.wrap(columns - 1)).collect();
    let block = picture.block(now, size);
    let all: Vec<String> = finished.iter().chain(&block).map(|line| line.paint(paint)).collect();
    for line in finished.iter().chain(&block) {
        assert!(line.width() < columns, "{} columns: {:?}", line.width(), line.text());
    }
    all.join("\n").replace('\u{1b}', "␛")
}

#[test]
fn plain_lines_tell_the_whole_run() {
    insta::assert_snapshot!(lines(LineViewDetail::All), @r#"
ralph/plan.jsonl with claude; 2 of 5 tasks done
Gates: lint, test
Recovered: iteration 2 (t-wei0) was interrupted; its work is rolled back
[3] t-7jla  Resize pictures to 256 px, and keep their proportions (画像の縮小)
Warning: progress.md changed while the backend worked: 1 new task was kept
    backend  finished; 4 files changed, $0.04, 13s
    gate     lint: passed, 0.9s
    gate     test: failed, 3.0s
    gate     test: passed before the attempt, 2.5s
    failed   gates failed: test; 2 attempts left
             | test: `npm test` (exit code 1)
             | not ok 3 - keeps proportions
             |   expected: 256
             |   actual: 255
    kept     refs/ralph/01JRUN/salvage/01JATT3  (`ralph show 3 --diff`)
[4] t-7jla, retry 1 of 2  Resize pictures to 256 px, and keep their proportions (画像の縮小)
Waiting: usage limit of claude: resets at 14:00; 41m 0s left
    backend  finished; 1 file changed, $0.05, 11s
    gate     lint: passed, 0.8s
    gate     test: passed, 2.9s
    landed   3f2a9c1d5e  Resize with the longer side as the measure  (3 of 5 tasks done)
    note     test/resize.js was changed
[5] t-key0  Upload to the bucket
Stopping: what is under way goes on to its end; the same signal once more ends it at once
    backend  finished; 0 files changed, cost unknown, 3.0s
    blocked  no API key
Blocked: no task can run. Tasks remaining: 2
  t-key0: blocked: no API key here
  t-inry: waits for t-key0
1 landed in 3 attempts, $0.12 and 1 run of unknown cost, 42s.
Next: `ralph task retry t-key0` gives it another attempt
"#);
}

#[test]
fn a_quiet_view_tells_problems_and_the_end() {
    insta::assert_snapshot!(lines(LineViewDetail::Problems), @r#"
Recovered: iteration 2 (t-wei0) was interrupted; its work is rolled back
Warning: progress.md changed while the backend worked: 1 new task was kept
Waiting: usage limit of claude: resets at 14:00; 41m 0s left
Stopping: what is under way goes on to its end; the same signal once more ends it at once
[5] t-key0  Upload to the bucket
    blocked  no API key
Blocked: no task can run. Tasks remaining: 2
  t-key0: blocked: no API key here
  t-inry: waits for t-key0
1 landed in 3 attempts, $0.12 and 1 run of unknown cost, 42s.
Next: `ralph task retry t-key0` gives it another attempt
"#);
}

#[test]
fn the_live_view_fits_forty_columns() {
    insta::assert_snapshot!(screen_at(9.0, 40, Paint::None), @r#"
ralph/plan.jsonl with claude; 2 of 5
tasks done
Gates: lint, test
Recovered: iteration 2 (t-wei0) was
           interrupted; its work is
           rolled back
Warning: progress.md changed while the
         backend worked: 1 new task was
         kept

[3] t-7jla  Resize pictures to 256 px,…
    tool     Read src/resize.js
    tool     Edit src/resize.js
    tool     3s, Bash npm test -- uplo…
    now      8s, context 43 %, $0.03, …
[####------] 2/5 tasks, 9s, $0.03
"#);
}

#[test]
fn the_live_view_fits_eighty_columns() {
    insta::assert_snapshot!(screen_at(9.0, 80, Paint::None), @r#"
ralph/plan.jsonl with claude; 2 of 5 tasks done
Gates: lint, test
Recovered: iteration 2 (t-wei0) was interrupted; its work is rolled back
Warning: progress.md changed while the backend worked: 1 new task was kept

[3] t-7jla  Resize pictures to 256 px, and keep their proportions (画像の縮小)
    tool     Read src/resize.js
    tool     Edit src/resize.js
    tool     3s, Bash npm test -- upload --reporter=dot && npm run lint -- --m…
    now      8s, context 43 %, $0.03, claude opus
[########------------] 2/5 tasks, 9s, $0.03
"#);
}

#[test]
fn the_live_view_shows_gates_while_they_run() {
    insta::assert_snapshot!(screen_at(17.2, 120, Paint::None), @r#"
ralph/plan.jsonl with claude; 2 of 5 tasks done
Gates: lint, test
Recovered: iteration 2 (t-wei0) was interrupted; its work is rolled back
Warning: progress.md changed while the backend worked: 1 new task was kept

[3] t-7jla  Resize pictures to 256 px, and keep their proportions (画像の縮小)
    backend  finished; 4 files changed, $0.04, 13s
    gate     lint: passed, 0.9s
    gate     test: failed, 3.0s
    gate     test: running on the tree before the attempt, 0s
[############------------------] 2/5 tasks, 17s, $0.04
"#);
}

#[test]
fn the_live_view_counts_a_wait_down_below_what_has_happened() {
    insta::assert_snapshot!(screen_at(31.0, 80, Paint::None), @r#"
ralph/plan.jsonl with claude; 2 of 5 tasks done
Gates: lint, test
Recovered: iteration 2 (t-wei0) was interrupted; its work is rolled back
Warning: progress.md changed while the backend worked: 1 new task was kept
[3] t-7jla  Resize pictures to 256 px, and keep their proportions (画像の縮小)
    backend  finished; 4 files changed, $0.04, 13s
    gate     lint: passed, 0.9s
    gate     test: failed, 3.0s
    gate     test: passed before the attempt, 2.5s
    failed   gates failed: test; 2 attempts left
             | test: `npm test` (exit code 1)
             | not ok 3 - keeps proportions
             |   expected: 256
             |   actual: 255
    kept     refs/ralph/01JRUN/salvage/01JATT3  (`ralph show 3 --diff`)
Waiting: usage limit of claude: resets at 14:00; 41m 0s left

[4] t-7jla, retry 1 of 2  Resize pictures to 256 px, and keep their proportion…
    tool     Edit src/resize.js
    now      10s, context 15 %, $0.05, claude opus
Waiting, 40m 59s left: usage limit of claude: resets at 14:00
[########------------] 2/5 tasks, 31s, $0.09
"#);
}

#[test]
fn the_live_view_ends_with_the_reason_and_without_its_block() {
    insta::assert_snapshot!(screen_at(42.0, 80, Paint::None), @r#"
ralph/plan.jsonl with claude; 2 of 5 tasks done
Gates: lint, test
Recovered: iteration 2 (t-wei0) was interrupted; its work is rolled back
Warning: progress.md changed while the backend worked: 1 new task was kept
[3] t-7jla  Resize pictures to 256 px, and keep their proportions (画像の縮小)
    backend  finished; 4 files changed, $0.04, 13s
    gate     lint: passed, 0.9s
    gate     test: failed, 3.0s
    gate     test: passed before the attempt, 2.5s
    failed   gates failed: test; 2 attempts left
             | test: `npm test` (exit code 1)
             | not ok 3 - keeps proportions
             |   expected: 256
             |   actual: 255
    kept     refs/ralph/01JRUN/salvage/01JATT3  (`ralph show 3 --diff`)
Waiting: usage limit of claude: resets at 14:00; 41m 0s left
[4] t-7jla, retry 1 of 2  Resize pictures to 256 px, and keep their proportions
    (画像の縮小)
    backend  finished; 1 file changed, $0.05, 11s
    gate     lint: passed, 0.8s
    gate     test: passed, 2.9s
    landed   3f2a9c1d5e  Resize with the longer side as the measure  (3 of 5
             tasks done)
    note     test/resize.js was changed
Stopping: what is under way goes on to its end; the same signal once more ends
          it at once
[5] t-key0  Upload to the bucket
    backend  finished; 0 files changed, cost unknown, 3.0s
    blocked  no API key
Blocked: no task can run. Tasks remaining: 2
  t-key0: blocked: no API key here
  t-inry: waits for t-key0
1 landed in 3 attempts, $0.12 and 1 run of unknown cost, 42s.
Next: `ralph task retry t-key0` gives it another attempt
"#);
}

#[test]
fn an_attempt_that_an_error_cut_short_stays_on_the_screen() {
    let mut picture = LoopPicture::new(None);
    script::play(|at, event| {
        if at.as_secs() < 15 {
            picture.on_event(at, &event.kind);
        }
    });
    let before: Vec<String> = picture.take_finished().iter().map(ScreenLine::text).collect();
    assert!(!before.iter().any(|line| line.starts_with("[3]")), "{before:?}");
    picture.end();
    let after: Vec<String> = picture.take_finished().iter().map(ScreenLine::text).collect();
    assert!(after[0].starts_with("[3] t-7jla") && after.len() == 3, "{after:?}");
    assert!(picture.block(Duration::ZERO, ScreenSize { columns: 80, rows: 24 }).is_empty());
}

#[test]
fn colours_add_nothing_but_colour() {
    let coloured = screen_at(17.2, 80, Paint::Ansi);
    let mut bare = String::new();
    for (n, part) in coloured.split('␛').enumerate() {
        bare.push_str(if n == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    assert_eq!(trimmed(&bare), trimmed(&screen_at(17.2, 80, Paint::None)));
    assert!(coloured.contains("␛[32mpassed␛[0m"), "{coloured}");
}

#[test]
fn nothing_that_was_told_can_command_the_terminal() {
    for text in [lines(LineViewDetail::All), lines(LineViewDetail::Problems)] {
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
    for columns in [40, 80, 120] {
        for second in 0..43 {
            let text = screen_at(f64::from(second), columns, Paint::None);
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        }
    }
}

#[test]
fn a_small_window_shows_the_end_of_the_block() {
    for (columns, rows) in [(1, 1), (2, 3), (10, 2), (500, 4)] {
        let size = ScreenSize { columns, rows };
        let mut screen = Screen::new(Vec::new(), Paint::Ansi);
        let mut picture = LoopPicture::new(None);
        script::play(|at, event| {
            picture.on_event(at, &event.kind);
            let finished = picture.take_finished();
            let block = picture.block(at, size);
            assert!(block.len() < rows.max(2), "{} lines on {rows} rows", block.len());
            screen.draw(size, &finished, block).unwrap();
        });
        let out = String::from_utf8(screen.into_inner()).unwrap();
        assert!(out.contains("\u{1b}["), "{out:?}");
    }
}

#[test]
fn json_is_one_event_a_line_and_words_go_elsewhere() {
    let mut view = JsonListener::new(Vec::new(), Vec::new());
    script::play(|_, event| view.on_event(event));
    let (out, words) = view.into_inner();
    let events: Vec<Value> = String::from_utf8(out)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = events
        .iter()
        .map(|e| e["event"].as_str().unwrap())
        .filter(|e| !["backend", "gate_start", "gate_end"].contains(e))
        .collect();
    assert_eq!(
        names,
        [
            "orchestrator_start",
            "recovered",
            "iteration_start",
            "warning",
            "backend_end",
            "validation_fail",
            "iteration_end",
            "iteration_start",
            "backend_end",
            "validation_pass",
            "iteration_end",
            "iteration_start",
            "stop",
            "backend_end",
            "iteration_end",
            "orchestrator_end",
        ]
    );
    for event in &events {
        assert_eq!(event["timestamp"], "2025-01-20T10:30:00Z");
        assert!(event["message"].is_string() && event["metadata"].is_object(), "{event}");
    }
    let end = events.last().unwrap();
    assert_eq!(end["metadata"]["status"], "blocked");
    assert_eq!(end["metadata"]["exit_code"], 3);
    let failed = events.iter().find(|e| e["event"] == "validation_fail").unwrap();
    assert_eq!(failed["metadata"]["checks"].as_array().unwrap().len(), 2, "{failed}");
    let calls = events.iter().filter(|e| e["metadata"]["type"] == "tool_call").count();
    assert_eq!(calls, 4);
    let words = String::from_utf8(words).unwrap();
    assert!(words.contains("Blocked: no task can run. Tasks remaining: 2\n"), "{words}");
}

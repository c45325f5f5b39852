//! Input and output: nothing is lost, nothing hangs, nothing grows.

use std::collections::BTreeSet;
use std::time::Duration;

use ralph_core::backend::BackendExit;
use ralph_host::proc::{JobInput, JobOutputLine, JobStderr, JobStdin, JobWatch, WatchDecision};

use crate::killed::as_another_process;
use crate::stage::Stage;

#[test]
fn the_log_holds_every_byte_of_both_streams() {
    let stage = Stage::new();
    let script = "import os\n\
        for i in range(2000):\n\
        \x20   os.write(1, b'out %d \\xff\\xfe ' % i)\n\
        \x20   os.write(2, b'err %d\\n' % i)\n\
        \x20   os.write(1, b'end\\n')\n\
        os.write(1, b'no end'); os.write(2, b'no end either')";
    let (finished, lines) = stage.run(&stage.python(script));
    let log = stage.log();
    assert_eq!(log.len() as u64, finished.stdout_bytes + finished.stderr_bytes);
    let logged: BTreeSet<&[u8]> = log.split(|b| *b == b'\n').collect();
    for i in 0..2000 {
        let line = [format!("out {i} ").as_bytes(), b"\xff\xfe end"].concat();
        assert!(logged.contains(&line[..]), "line {i} is not whole in the log");
    }
    assert_eq!(String::from_utf8_lossy(&log).matches("err ").count(), 2000);
    assert_eq!(lines.len(), 2001);
    assert_eq!(lines[7], "out 7 \u{fffd}\u{fffd} end");
    assert_eq!(lines[2000], "no end");
    assert!(finished.stderr_tail.ends_with("err 1999\nno end either"));
    assert!(finished.log_error.is_none());
}

#[test]
fn joined_streams_keep_the_order_of_writing() {
    let stage = Stage::new();
    let mut job = stage.sh("for i in 1 2 3; do echo out $i; echo err $i >&2; done");
    job.stderr = JobStderr::Joined;
    let (finished, lines) = stage.run(&job);
    assert_eq!(lines, ["out 1", "err 1", "out 2", "err 2", "out 3", "err 3"]);
    assert_eq!(finished.stderr_tail, "");
}

#[test]
fn a_log_is_added_to_and_never_replaced() {
    let stage = Stage::new();
    stage.run(&stage.sh("echo first"));
    stage.run(&stage.sh("echo second"));
    assert_eq!(stage.log(), b"first\nsecond\n");
}

#[test]
fn bytes_that_are_no_text_reach_the_watch_as_they_are() {
    let stage = Stage::new();
    let mut seen = Vec::new();
    let job = stage.sh("printf '\\377\\376\\000\\001\\n\\n\\303'");
    stage.watch(&job, &mut |line: JobOutputLine<'_>| {
        seen.push(line.bytes.to_vec());
        WatchDecision::Continue
    });
    assert_eq!(seen, [b"\xff\xfe\x00\x01".to_vec(), vec![], vec![0xc3]]);
}

#[test]
fn input_greater_than_a_pipe_reaches_a_program_that_writes_meanwhile() {
    let stage = Stage::new();
    let mut job = stage.sh("exec cat");
    job.stdin = JobStdin::Bytes(b"a line of input\n".repeat(100_000));
    let (finished, lines) = stage.run(&job);
    assert_eq!(finished.stdout_bytes, 1_600_000);
    assert_eq!(lines.len(), 100_000);
}

#[test]
fn a_program_that_writes_much_before_it_reads_gets_its_input() {
    let stage = Stage::new();
    let script = "import sys\n\
        for i in range(30000): print('x' * 100)\n\
        sys.stdout.flush()\n\
        print(len(sys.stdin.read()))";
    let mut job = stage.python(script);
    job.stdin = JobStdin::Bytes(vec![b'i'; 3_000_000]);
    let (_, lines) = stage.run(&job);
    assert_eq!(lines.len(), 30_001);
    assert_eq!(lines[30_000], "3000000");
}

#[test]
fn a_program_that_does_not_read_its_input_is_not_at_fault() {
    let stage = Stage::new();
    for script in
        ["exec 0<&-; sleep 0.1; echo done", "echo done", "head -c 10 >/dev/null; echo done"]
    {
        let mut job = stage.sh(script);
        job.stdin = JobStdin::Bytes(vec![b'i'; 3_000_000]);
        let (finished, lines) = stage.run(&job);
        assert_eq!((finished.exit, lines), (BackendExit::code(0), vec!["done".to_owned()]));
    }
}

#[test]
fn no_input_is_an_end_at_once_and_small_input_comes_whole() {
    let stage = Stage::new();
    let (_, lines) = stage.run(&stage.sh("cat; echo end"));
    assert_eq!(lines, ["end"]);
    let mut job = stage.sh("cat; echo; echo end");
    job.stdin = JobStdin::Bytes(b"small".to_vec());
    assert_eq!(stage.run(&job).1, ["small", "end"]);
}

/// Answers every line until it has had enough.
struct Talk {
    heard: Vec<String>,
}

impl JobWatch for Talk {
    fn line(&mut self, line: JobOutputLine<'_>, input: &JobInput) -> WatchDecision {
        self.heard.push(String::from_utf8_lossy(line.bytes).into_owned());
        if self.heard.len() < 4 {
            assert!(input.send(format!("{}!\n", self.heard.len()).into_bytes()));
        } else {
            input.close();
        }
        WatchDecision::Continue
    }
}

#[test]
fn a_watch_can_talk_with_the_program() {
    let stage = Stage::new();
    let mut job = stage.sh("while read line; do echo \"got $line\"; done; echo end");
    job.stdin = JobStdin::Open(b"hello\n".to_vec());
    let mut talk = Talk { heard: Vec::new() };
    let finished = stage.watch(&job, &mut talk);
    assert_eq!(finished.exit, BackendExit::code(0));
    assert_eq!(talk.heard, ["got hello", "got 1!", "got 2!", "got 3!", "end"]);
}

#[test]
fn a_line_that_is_too_long_is_cut_and_the_next_one_is_whole() {
    let stage = Stage::new();
    let mut job = stage.sh("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo next");
    job.bounds.line = 100_000;
    let mut seen = Vec::new();
    let finished = stage.watch(&job, &mut |line: JobOutputLine<'_>| {
        seen.push((line.bytes.len(), line.cut));
        WatchDecision::Continue
    });
    let (kept, cut) = seen[0];
    assert!((99_000..100_100).contains(&kept) && cut > 2_899_000, "{seen:?}");
    assert_eq!(seen[1..], [(4, 0)]);
    assert_eq!((finished.longest_cut, kept as u64 + cut), (3_000_000, 3_000_000));
    assert_eq!(finished.stdout_bytes, 3_000_006);
    assert_eq!(stage.log().len(), 3_000_006);
}

/// Hundreds of megabytes in lines, as much in one line, and a watch that is slow at first.
#[test]
fn endless_output_and_an_endless_line_cost_bounded_memory() {
    let most = as_another_process("output::measured", &[]);
    let kilobytes: u64 = most.trim().parse().unwrap();
    assert!(kilobytes < 100_000, "ralph's side took {kilobytes} kB at most");
}

#[test]
#[ignore = "started by endless_output_and_an_endless_line_cost_bounded_memory"]
fn measured() {
    let stage = Stage::new();
    let mut job = stage.sh("yes \"$(head -c 5000 /dev/zero | tr '\\0' x)\" | head -c 300000000; \
         head -c 300000000 /dev/zero");
    job.log = None;
    let mut lines = 0_u64;
    let finished = stage.watch(&job, &mut |_: JobOutputLine<'_>| {
        lines += 1;
        if lines < 20 {
            std::thread::sleep(Duration::from_millis(10));
        }
        WatchDecision::Continue
    });
    assert_eq!(finished.exit, BackendExit::code(0));
    assert_eq!(finished.stdout_bytes, 600_000_000);
    assert!(finished.longest_cut >= 300_000_000);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    println!("measured: {}", most.trim().trim_end_matches(" kB"));
}

#[test]
fn a_log_that_cannot_be_written_does_not_stop_the_job() {
    let stage = Stage::new();
    let mut job = stage.sh("echo one; echo two");
    job.log = Some("/dev/full".into());
    let (finished, lines) = stage.run(&job);
    assert_eq!(finished.exit, BackendExit::code(0));
    assert_eq!(lines, ["one", "two"]);
    assert!(finished.log_error.is_some());
}

#[test]
fn a_panic_in_the_watch_ends_the_job() {
    let stage = Stage::new();
    let job = stage.sh("echo up; exec sleep 300");
    let run = std::panic::AssertUnwindSafe(|| {
        stage
            .runner
            .run(&job, &mut |_: JobOutputLine<'_>| -> WatchDecision { panic!("on purpose") })
    });
    assert!(std::panic::catch_unwind(run).is_err());
    crate::stage::until_nobody_is_left(stage.runner.run_id());
    assert_eq!(stage.run(&stage.sh("exit 0")).0.exit, BackendExit::code(0));
}

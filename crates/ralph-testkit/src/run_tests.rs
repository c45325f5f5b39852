use std::panic::catch_unwind;

use crate::TestProject;

fn message(check: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = catch_unwind(check).expect_err("the check should fail");
    panic.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn a_failed_check_shows_the_command_and_all_it_wrote() {
    let text = message(|| {
        TestProject::new("/bin/sh").run(["-c", "echo out; echo err >&2; exit 3"]).ok();
    });
    for part in ["the exit code is 3, not 0", "sh -c ", "--- stdout\nout\n", "--- stderr\nerr\n"] {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

#[test]
fn a_difference_is_shown_at_its_first_line() {
    let text = message(|| {
        TestProject::new("/bin/sh").run(["-c", "printf 'a\\nb\\n'"]).ok().stdout("a\nc\n");
    });
    assert!(text.contains("from line 2:\n  expected \"c\\n\"\n  got      \"b\\n\""), "{text}");
}

#[test]
fn json_is_all_of_standard_output_or_a_failure() {
    let p = TestProject::new("/bin/sh");
    assert_eq!(p.run(["-c", "echo '{\"n\":[1]}'"]).ok().json()["n"][0], 1);
    let text = message(|| {
        TestProject::new("/bin/sh").run(["-c", "echo '1'; echo noise"]).json();
    });
    assert!(text.contains("is not JSON"), "{text}");
}

#[test]
fn a_panic_is_a_failure_whatever_the_exit_code() {
    let text = message(|| {
        let script = "echo \"thread 'main' panicked at src\" >&2; exit 1";
        TestProject::new("/bin/sh").run(["-c", script]).fails(1);
    });
    assert!(text.starts_with("it panicked"), "{text}");
}

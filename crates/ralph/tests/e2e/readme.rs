//! The README shows what really happens.

use ralph_testkit::project;

#[test]
fn the_example_of_the_readme_prints_what_it_says() {
    let readme = include_str!("../../../../README.md");
    let example = readme.split("```console\n").nth(1).and_then(|s| s.split("```").next()).unwrap();
    let p = project!()
        .git_init()
        .file("package.json", r#"{"scripts":{"test":"node --test","lint":"eslint ."}}"#)
        .env("RALPH_SEED", "11");
    let mut commands = 0;
    for block in format!("\n{example}").split("\n$ ").skip(1) {
        // A command goes on until its quotes are closed.
        let lines: Vec<&str> = block.lines().collect();
        let closed = |n: &usize| lines[..*n].concat().matches('\'').count() % 2 == 0;
        let n = (1..=lines.len()).find(closed).unwrap();
        let bin = env!("CARGO_BIN_EXE_ralph");
        let script = lines[..n].join("\n").replacen("ralph", bin, 1);
        let mut expected = lines[n..].join("\n");
        if n < lines.len() {
            expected.push('\n');
        }
        p.shell(&script).ok().stdout(&expected);
        commands += 1;
    }
    assert_eq!(commands, 8, "the example has eight commands");
}

//! Counts that say how easy the production code is to live in, each with a limit.
//!
//! A limit is where the code stands, or the goal where that is reached: a change may lower a count, and then
//! lowers the limit here with it. `cargo nextest run -p ralph --test architecture --no-capture counts` prints them.

use std::collections::BTreeMap;

use super::{is_test, sources, without_tests};

/// Crates that are part of the program; the test kit and the scripted model are not.
const PROGRAM: [&str; 5] = [
    "crates/ralph-core/src/",
    "crates/ralph-host/src/",
    "crates/ralph-face/src/",
    "crates/ralph-web/src/",
    "crates/ralph/src/",
];

/// Words that open a riddle instead of saying what a thing is or does.
const RIDDLES: [&str; 6] = ["How", "It", "Its", "What", "Where", "Whoever"];

const MOST_WORDS_OF_A_SHORT_DOC: usize = 4;
const LINES_OF_A_LONG_FUNCTION: usize = 60;

/// One count: its name, the number, and the most that it may be.
struct Count {
    name: &'static str,
    is: usize,
    most: usize,
}

#[test]
fn counts_of_the_production_code_stay_within_their_limits() {
    let files = production_files();
    let docs: Vec<DocComment> = files.iter().flat_map(|(_, text)| doc_comments(text)).collect();
    let types = type_names(&files);
    let type_total: usize = types.values().map(Vec::len).sum();
    let shared: usize = types.values().map(Vec::len).filter(|times| *times > 1).sum();
    let riddles = docs.iter().filter(|doc| doc.opens_with_a_riddle()).count();
    let counts = [
        Count { name: "source files", is: files.len(), most: 640 },
        Count { name: "lines of code", is: sum(&files, code_lines), most: 81_000 },
        Count { name: "lines of the longest file", is: longest(&files), most: 500 },
        Count { name: "functions of over 60 lines", is: sum(&files, long_functions), most: 18 },
        Count { name: "`pub(super)`", is: sum(&files, restricted_items), most: 1_800 },
        Count { name: "public items", is: sum(&files, public_items), most: 2_300 },
        Count {
            name: "types that share their name, in 1000",
            is: shared * 1000 / type_total,
            most: 10,
        },
        Count {
            name: "docs that open with a riddle, in 1000",
            is: riddles * 1000 / docs.len(),
            most: 10,
        },
        Count {
            name: "docs of four words or fewer",
            is: docs.iter().filter(|doc| doc.is_short()).count(),
            most: 410,
        },
    ];
    for count in &counts {
        eprintln!("{:>7} (at most {:>6})  {}", count.is, count.most, count.name);
    }
    let mut over = Vec::new();
    for count in counts.iter().filter(|count| count.is > count.most) {
        over.push(format!("{}: {} instead of at most {}", count.name, count.is, count.most));
    }
    if !over.is_empty() {
        print_shared_names(&types);
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}

/// In place of the compiler's `missing_docs`, which asks for a comment on every field too.
#[test]
fn every_module_and_every_public_type_and_function_says_what_it_is_for() {
    let mut bare = Vec::new();
    for (path, text) in production_files() {
        if !text.starts_with("//!") && !text.starts_with("#!") {
            bare.push(format!("{path}: the file says nothing about itself"));
        }
        let mut documented = false;
        for line in text.lines() {
            if line.starts_with("///") {
                documented = true;
            } else if !line.starts_with("#[") && !line.starts_with(' ') && !line.starts_with(')') {
                let public = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) "));
                let is_command = |item: &&str| item.starts_with("fn run(");
                let named = public
                    .filter(|item| declared(item).is_some() || is_function(item))
                    // A command says what it does in the comment of its arguments: that is its help.
                    .filter(|item| !(is_command(item) && path.contains("/commands/")));
                if let Some(item) = named.filter(|_| !documented) {
                    bare.push(format!("{path}: {item}"));
                }
                documented = false;
            }
        }
    }
    assert!(bare.is_empty(), "say what these are for:\n{}", bare.join("\n"));
}

/// Path and text, without tests.
fn production_files() -> Vec<(String, String)> {
    let is_ours = |path: &str| PROGRAM.iter().any(|crate_| path.starts_with(crate_));
    let found: Vec<_> = sources()
        .into_iter()
        .filter(|(path, _)| is_ours(path) && !is_test(path) && !path.ends_with("/tests.rs"))
        .map(|(path, text)| (path, without_tests(&text).to_owned()))
        .collect();
    assert!(found.len() > 100, "the production files were not found");
    found
}

fn sum(files: &[(String, String)], count: fn(&str) -> usize) -> usize {
    files.iter().map(|(_, text)| count(text)).sum()
}

fn longest(files: &[(String, String)]) -> usize {
    files.iter().map(|(_, text)| code_lines(text)).max().unwrap_or(0)
}

fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"))
}

fn code_lines(text: &str) -> usize {
    code(text).count()
}

fn restricted_items(text: &str) -> usize {
    code(text).filter(|line| line.starts_with("pub(super) ")).count()
}

fn public_items(text: &str) -> usize {
    const ITEMS: [&str; 8] = ["fn", "struct", "enum", "trait", "const", "type", "mod", "use"];
    code(text)
        .filter_map(|line| line.strip_prefix("pub ")?.split_whitespace().next())
        .filter(|word| ITEMS.contains(word))
        .count()
}

fn long_functions(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = 0;
    for (start, line) in lines.iter().enumerate().filter(|(_, line)| is_function(line.trim_start()))
    {
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = format!("{indent}}}");
        let length = lines[start..].iter().position(|line| *line == end).unwrap_or(0);
        found += usize::from(length > LINES_OF_A_LONG_FUNCTION);
    }
    found
}

fn is_function(item: &str) -> bool {
    without_visibility(item).trim_start_matches("const ").starts_with("fn ")
}

fn without_visibility(item: &str) -> &str {
    let Some(rest) = item.strip_prefix("pub") else { return item };
    match rest.strip_prefix('(').and_then(|scope| scope.split_once(") ")) {
        Some((_, item)) => item,
        None => rest.trim_start(),
    }
}

/// Name of the type that a line declares.
fn declared(item: &str) -> Option<&str> {
    let mut words = without_visibility(item).split_whitespace();
    let kind = words.next()?;
    let name = words.next()?;
    let end = name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len());
    ["struct", "enum", "trait"].contains(&kind).then(|| &name[..end])
}

/// Each type's name with the files that declare it.
fn type_names(files: &[(String, String)]) -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in files {
        let mut in_macro = false;
        for line in text.lines() {
            let item = line.trim_start();
            let name = match declared(item) {
                Some(name) => Some(name),
                None if in_macro && item.ends_with(" {") => item.strip_suffix(" {"),
                None => None,
            };
            in_macro = line == "word_enum! {" || in_macro && name.is_none() && line != "}";
            if let Some(name) = name {
                names.entry(name.to_owned()).or_default().push(path.clone());
            }
        }
    }
    names
}

fn print_shared_names(types: &BTreeMap<String, Vec<String>>) {
    for (name, files) in types.iter().filter(|(_, files)| files.len() > 1) {
        eprintln!("{name}: {}", files.join(" "));
    }
}

struct DocComment {
    first_line: String,
    lines: usize,
}

impl DocComment {
    fn opens_with_a_riddle(&self) -> bool {
        let first = self.first_line.split_whitespace().next().unwrap_or_default();
        RIDDLES.contains(&first.trim_end_matches(|c: char| !c.is_alphanumeric()))
    }

    fn is_short(&self) -> bool {
        self.lines == 1 && self.first_line.split_whitespace().count() <= MOST_WORDS_OF_A_SHORT_DOC
    }
}

fn doc_comments(text: &str) -> Vec<DocComment> {
    let mut found: Vec<DocComment> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        match (doc, found.last_mut()) {
            (Some(_), Some(comment)) if inside => comment.lines += 1,
            (Some(doc), _) => {
                found.push(DocComment { first_line: doc.trim().to_owned(), lines: 1 });
            }
            (None, _) => {}
        }
        inside = doc.is_some();
    }
    found
}

//! jest, vitest, mocha, and the report for people of `node --test`.

use super::{RunnerReader, TestTally, indent, number_before, without_time};

/// jest: `FAIL file`, and below it a `●` for each test that failed.
#[derive(Default)]
pub(super) struct Jest {
    file: Option<String>,
}

impl RunnerReader for Jest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if let Some(file) = line.strip_prefix("FAIL ") {
            self.file = Some(without_time(file).trim().to_owned());
        } else if line.starts_with("PASS ") {
            self.file = None;
        } else if let Some(name) = line.strip_prefix("  ● ")
            && let Some(file) = &self.file
            && name != "Console"
        {
            tally.fail(&format!("{file} {}", name.trim()));
        } else if let Some(counts) = line.strip_prefix("Tests: ") {
            tally.declared += number_before(counts, " failed").unwrap_or(0);
        } else if line.contains("Tests are stopped early")
            || line.starts_with("Test run was interrupted")
        {
            tally.missing("jest stopped before it had run all tests");
        }
    }
}

/// vitest: ` FAIL  file > suite > test`.
pub(super) struct Vitest;

impl RunnerReader for Vitest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if let Some(name) = line.strip_prefix(" FAIL  ") {
            let name = name.trim();
            // A file that could not be loaded is told as `file [ file ]`.
            let file = name.split_once(" [ ").map_or(name, |(file, _)| file);
            // The file is the group, so it stands alone before the first blank.
            tally.fail(&file.replacen(" > ", " ", 1));
        } else if let Some(counts) = line.trim_start().strip_prefix("Tests  ") {
            tally.declared += number_before(counts, " failed").unwrap_or(0);
        } else if line.contains("Test run cancelled due to bail")
            || line.contains("Cancelling test run")
        {
            tally.missing("vitest stopped before it had run all tests");
        }
    }
}

/// mocha: after `N failing`, each failure is a number and the path of titles, which ends in a colon.
#[derive(Default)]
pub(super) struct Mocha {
    failing: bool,
    titles: Vec<String>,
}

/// Deepest nesting of suites that is followed.
const DEEPEST: usize = 50;

impl RunnerReader for Mocha {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        let text = line.trim();
        if let Some(count) = line.strip_prefix("  ").and_then(|l| l.strip_suffix(" failing")) {
            if let Ok(count) = count.parse::<u64>() {
                self.failing = true;
                tally.declared += count;
            }
        } else if self.failing {
            let numbered = text.split_once(") ").filter(|(n, _)| n.parse::<u32>().is_ok());
            match numbered {
                Some((_, title)) if indent(line) == 2 => self.titles = vec![title.to_owned()],
                _ if self.titles.is_empty() => return,
                _ if text.is_empty() || self.titles.len() >= DEEPEST => {
                    self.titles.clear();
                    return;
                }
                _ => self.titles.push(text.to_owned()),
            }
            if text.ends_with(':') && indent(line) >= 2 {
                let name = self.titles.join(" › ");
                tally.fail_again(name.trim_end_matches(':'));
                self.titles.clear();
            }
        }
    }
}

/// The report for people of `node --test`, by its list of failed tests.
#[derive(Default)]
pub(super) struct NodeTest {
    listing: bool,
    file: Option<String>,
}

impl RunnerReader for NodeTest {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if line == "✖ failing tests:" {
            self.listing = true;
        } else if let Some(count) =
            line.strip_prefix("ℹ fail ").or_else(|| line.strip_prefix("ℹ cancelled "))
        {
            tally.declared += count.trim().parse().unwrap_or(0);
        } else if let Some(place) = line.strip_prefix("test at ").filter(|_| self.listing) {
            let mut parts = place.rsplitn(3, ':');
            self.file = parts.nth(2).map(str::to_owned);
        } else if let Some(name) = line.strip_prefix("✖ ").filter(|_| self.listing) {
            let file = self.file.take().unwrap_or_default();
            tally.fail_again(&format!("{file} {}", without_time(name)));
        }
    }
}

//! rspec, and what the families of JUnit write: Maven, Gradle, .NET, PHPUnit, ctest, and its XML.

use super::{RunnerReader, TestTally, number_before, without_time};

/// rspec, by its list of commands that run a failure again.
pub(super) struct Rspec;

impl RunnerReader for Rspec {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        if let Some((place, name)) = line.strip_prefix("rspec ").and_then(|l| l.split_once(" # ")) {
            // The line moves when something above it changes.
            let file = place.trim_matches('\'').split(['[', ':']).next().unwrap_or_default();
            tally.fail_again(&format!("{} {name}", file.trim_start_matches("./")));
        } else if line.contains(" examples, ") || line.contains(" example, ") {
            tally.declared += number_before(line, " failure").unwrap_or(0);
        }
    }
}

/// The runners whose failures are one line each.
#[derive(Default)]
pub(super) struct Junit {
    case: Option<String>,
}

impl RunnerReader for Junit {
    fn line(&mut self, line: &str, tally: &mut TestTally) {
        let text = line.trim();
        if text.starts_with('<') {
            self.xml(text, tally);
        } else if let Some(name) = maven(line).or_else(|| gradle(line)).or_else(|| dotnet(line)) {
            tally.fail(name);
        } else if let Some(name) = numbered(line).or_else(|| ctest(line)) {
            tally.fail_again(name);
        }
    }
}

impl Junit {
    fn xml(&mut self, text: &str, tally: &mut TestTally) {
        if let Some(at) = text.find("<testcase ") {
            let tag = text.get(at..).unwrap_or_default();
            let class = attribute(tag, " classname=\"").unwrap_or_default();
            self.case = attribute(tag, " name=\"").map(|name| format!("{class} {name}"));
        }
        if (text.contains("<failure") || text.contains("<error"))
            && let Some(case) = self.case.take()
        {
            tally.fail(&case);
        }
        if text.contains("</testcase>") {
            self.case = None;
        }
    }
}

fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let (_, value) = tag.split_once(name)?;
    value.split('"').next()
}

/// `[ERROR] com.example.FooTest.bar -- Time elapsed: 0.01 s <<< FAILURE!`
fn maven(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("[ERROR] ")?;
    let (name, result) = rest.split_once(" <<< ")?;
    let is_case = !name.starts_with("Tests run:")
        && (result.starts_with("FAIL") || result.starts_with("ERROR"));
    let name = name.split("Time elapsed").next().unwrap_or_default();
    is_case.then(|| name.trim_end_matches([' ', '-']))
}

/// Return the test of a line of Gradle, such as `FooTest > bar() FAILED`.
fn gradle(line: &str) -> Option<&str> {
    let name = line.strip_suffix(" FAILED")?;
    (name.contains(" > ") && !name.starts_with([' ', '>'])).then_some(name)
}

/// Return the test of a line of dotnet, such as `  Failed Namespace.FooTest.Bar [5 ms]`.
fn dotnet(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("  Failed ")?;
    let (name, time) = rest.rsplit_once(" [")?;
    time.ends_with("s]").then_some(name)
}

/// `1) FooTest::testBar` of PHPUnit, `  1) test adds (CalcTest)` of ExUnit.
fn numbered(line: &str) -> Option<&str> {
    let (number, name) = line.trim_start().split_once(") ")?;
    number.parse::<u32>().ok()?;
    let phpunit = !line.starts_with(' ') && name.contains("::") && name.contains("Test");
    let exunit = line.starts_with("  ")
        && name.starts_with("test ")
        && name.ends_with(')')
        && name.contains(" (");
    (phpunit || exunit).then_some(name)
}

/// A tab and `  3 - name (Failed)`, at the end of ctest.
fn ctest(line: &str) -> Option<&str> {
    let (number, rest) = line.strip_prefix('\t')?.trim_start().split_once(" - ")?;
    number.parse::<u32>().ok()?;
    let (name, state) = without_time(rest).rsplit_once(" (")?;
    ["Failed)", "Timeout)", "SEGFAULT)", "Not Run)"].contains(&state).then_some(name)
}

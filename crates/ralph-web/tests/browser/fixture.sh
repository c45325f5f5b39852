#!/bin/sh
# A project that a simulated backend works on for a while: fixture.sh RALPH DIRECTORY [PACE]
set -eu
ralph=$1 dir=$2 pace=${3:-1s}
mkdir -p "$dir/ralph/specs" "$dir/src" "$dir/tests" "$dir/.ralph"
cd "$dir"
cat > ralph.toml <<'TOML'
# Settings of the calculator. Comments stay when the dashboard writes.
backend = "sim"
mode = "handoff-only"   # memory
max_retries = 2

[limits]
stage_timeout = "2m"
max_cost = 2.0

[[gates]]
name = "test"
command = "sh test.sh"

[[gates]]
name = "lint"
command = "! grep -rn TODO src"
kind = "lint"
TOML
cat > test.sh <<'SH'
# Each module says in its last line how many of its checks pass.
status=0
for module in src/*.rs; do
  name=$(basename "$module" .rs)
  if grep -q 'fails:' "$module"; then echo "not ok - $name: $(sed -n 's/.*fails: //p' "$module")"; status=1
  else echo "ok - $name: $(grep -c '' "$module") checks"; fi
done
exit $status
SH
printf '//! A calculator for people.\npub mod number;\n' > src/lib.rs
spec() { printf '# %s\n\nWhat is wanted.\n\n- [ ] `sh test.sh` passes\n' "$2" > "ralph/specs/$1"; }
spec calc.md Calculator; spec units.md 'Units of measure'; spec history.md 'A history of results'; spec export.md 'Export as CSV'
{
  echo '{"t":"spec","spec":"calc.md"}'
  n=1
  for task in 'Parse whole numbers' 'Parse fractions' 'Add and subtract' 'Multiply' 'Divide, and refuse zero' \
    'Brackets' 'Variables' 'Unary minus' 'Powers' 'Error messages with a column' 'A prompt with history' 'Read expressions from a file'; do
    id=$(printf 't-%04d' $n)
    deps='' extra=''
    [ $n -gt 2 ] && deps=",\"deps\":[\"$(printf 't-%04d' $((n / 2)))\"]"
    [ $n = 9 ] && extra=',"blocked":"needs a decision: are powers whole numbers only?"'
    [ $n -lt 4 ] && extra=',"priority":"high"'
    echo "{\"t\":\"task\",\"id\":\"$id\",\"spec\":\"calc.md\",\"name\":\"$task\",\"s\":\"p\",\"accept\":\"\`sh test.sh\` passes\"$deps$extra}"
    n=$((n + 1))
  done
} > ralph/plan.jsonl
# rule ID MODULE COST TOKENS THOUGHT WORDS SUMMARY
rule() {
  cat <<TOML
[[rule]]
task = "$1"
when = "## Current Task"
steps = [
    { think = "$5" }, { context = [18, 31] }, { cost = 0.03 },
    { sleep = "${pace}" },
    { run = "grep -n mod src/lib.rs" },
    { say = "$6\\n" },
    { sleep = "${pace}" },
    { write = "src/$2.rs", text = """
//! $7.
use crate::Problem;

/// Reads and evaluates this part of an expression.
pub fn $2(text: &str) -> Result<f64, Problem> {
    let (head, rest) = crate::split(text)?;
    crate::join(head, rest)
}
""" },
    { append = "src/lib.rs", text = "pub mod $2;\n" }, { context = 42 },
    { run = "sh test.sh" }, { usage = { input = $4, cached = 30100, output = 1850 } }, { cost = $3 },
    { sleep = "${pace}" },
    { claim = "done", handoff = { summary = "$7", freeform = "$6 The checks cover the usual input and the odd ones: empty text, blanks, and a sign without a number." } },
]
TOML
}
cat > scenario.toml <<TOML
[[rule]]
task = "t-0003"
attempt = 1
when = "## Current Task"
steps = [
    { think = "Addition first, subtraction is the same with a sign." }, { sleep = "${pace}" },
    { write = "src/sum.rs", text = "// fails: 7 - 3 - 2 is 2, found 6\n" }, { context = 61 }, { usage = { input = 48200, cached = 31000, output = 2100 } },
    { cost = 0.11 }, { claim = "done", handoff = { summary = "Sums and differences of two numbers" } },
]
[[rule]]
task = "t-0006"
attempt = 1
when = "## Current Task"
steps = [ { say = "Brackets work, and all tests pass." }, { sleep = "${pace}" }, { cost = 0.04 }, { fault = "lie" } ]
TOML
{
  rule t-0001 number 0.07 31200 'I look at how modules are declared before I add one.' 'Whole numbers come first: digits with an optional sign, nothing else.' 'Whole numbers with a sign are read'
  rule t-0002 fraction 0.09 36400 'A fraction is a number, a point and digits.' 'A fraction reuses the number and keeps the digits behind the point.' 'Fractions are read, with or without a leading zero'
  rule t-0003 sum 0.12 41800 'Subtraction must group from the left.' 'The terms are folded from the left, so that 7 - 3 - 2 is 2.' 'Sums and differences group from the left'
  rule t-0004 product 0.08 33900 'Products bind closer than sums.' 'Products get a level of their own below the sums.' 'Products bind closer than sums'
  rule t-0005 quotient 0.09 35100 'What should one divided by zero say?' 'Division by zero is a problem with a column, not infinity.' 'Division, and a problem when it is by zero'
  rule t-0006 bracket 0.10 38700 'The depth must be bounded.' 'Brackets nest to 64 levels; deeper ones are refused with their column.' 'Brackets nest, to a bounded depth'
  rule t-0007 variable 0.11 40300 'Names are letters; where do they live?' 'Variables live in a map beside the parser and are looked up late.' 'Variables are set and read'
  rule t-0008 sign 0.07 30800 'A sign before a bracket is the odd case.' 'The unary minus binds closer than a product and less than a power.' 'Unary minus, also before a bracket'
  rule t-0010 problem 0.09 37600 'Every problem needs a column.' 'Problems carry the column and the text that was expected there.' 'Messages name the column and what was expected'
  rule t-0011 prompt 0.10 39400 'History is a list with a cursor.' 'The prompt keeps the last 100 lines and walks them with the arrows.' 'A prompt with a history'
  rule t-0012 file 0.08 34500 'One expression a line.' 'Expressions are read a line at a time; a problem names its line.' 'Expressions are read from a file'
  printf '[[rule]]\nsteps = [ { cost = 0.01 }, { say = "Nothing to add." } ]\n'
} >> scenario.toml
cat > .ralph/knowledge-index.md <<'MD'
# Knowledge Index
Last updated: iteration 3

## Constraints
- [K-constraint-whole-numbers] Numbers are whole; fractions are pairs of them [source: iter 1]
- [K-constraint-no-eval] Never hand input to the shell [source: iter 2] [supersedes: K-constraint-quote]

## Architectural Decisions
- [K-decision-left-to-right] The parser reads left to right and keeps no state between lines [source: iter 3]

## Gotchas
- [K-constraint-quote] Quote input before the shell sees it [source: iter 1]
MD
cat > .gitignore <<'IGN'
/ralph/.agent-session
/.ralph/state.json
/.ralph/handoffs/
/.ralph/context/
/.ralph/control/
/.ralph/logs/
/build/ralph-logs/
.ralph-tmp-*
/scenario.toml
IGN
git init -q -b main . && git add -A && git -c user.name=Tess -c user.email=tess@example.com commit -qm 'A calculator'
git config user.name Tess && git config user.email tess@example.com
for s in units history export; do "$ralph" inbox add "$s.md" >/dev/null; done

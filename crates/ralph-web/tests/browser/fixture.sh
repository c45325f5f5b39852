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
for t in src/*.txt; do
  [ -e "$t" ] || continue
  if grep -q BROKEN "$t"; then echo "not ok - $t: expected done, found BROKEN"; exit 1; fi
  echo "ok - $t"
done
SH
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
cat > scenario.toml <<TOML
[[rule]]
task = "t-0003"
attempt = 1
when = "## Current Task"
steps = [
    { think = "Addition first." }, { sleep = "${pace}" },
    { write = "src/{task}.txt", text = "BROKEN\n" }, { context = 61 }, { usage = { input = 48200, cached = 31000, output = 2100 } },
    { cost = 0.11 }, { claim = "done", handoff = { summary = "add and subtract" } },
]
[[rule]]
task = "t-0006"
attempt = 1
when = "## Current Task"
steps = [ { say = "Brackets work, and all tests pass." }, { sleep = "${pace}" }, { cost = 0.04 }, { fault = "lie" } ]
[[rule]]
when = "## Current Task"
steps = [
    { think = "I look at how the parser is made before I change it." }, { context = 42 }, { cost = 0.03 },
    { sleep = "${pace}" },
    { say = "The parser reads left to right; I add the new case beside the others and a test of its own.\n" },
    { run = "ls src; echo reading the parser" },
    { sleep = "${pace}" },
    { write = "src/{task}.txt", text = "done\nwith care\n" },
    { run = "sh test.sh" }, { usage = { input = 36400, cached = 30100, output = 1850 } }, { context = 42 }, { cost = 0.08 },
    { sleep = "${pace}" },
    { claim = "done", handoff = { summary = "{task} works, with a test of its own", freeform = "The case stands beside the others in the parser. The test covers the usual input and one odd one. Next comes whatever needs it." } },
]
[[rule]]
steps = [ { cost = 0.01 }, { say = "Nothing to add." } ]
TOML
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

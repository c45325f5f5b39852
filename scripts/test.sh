#!/usr/bin/env bash
# Checks what must hold before a change lands. Stops at the first step that fails and names it. A step
# that cannot run here is named in the summary; it never just disappears.
#
#   scripts/test.sh          format, lint, unit and end-to-end tests, a short crash run. Needs Rust and
#                            git, installs nothing but a C linker that is missing
#   scripts/test.sh --all    also all kills, fuzzing, the real agent programs, the browser, the site, the
#                            README's commands in a fresh clone, the packages. Installs what it needs
#   scripts/test.sh --long   for hours: kills at every point, thousands at random instants, and property
#                            tests with new seeds. Results go into docs/reliability.md
#
# FUZZ_SECONDS (5) is the time each fuzz target gets, PROPTEST_RNG_SEED the seed of the property tests.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
    "") mode=short ;;
    --all) mode=all ;;
    --long) mode=long ;;
    *)
        printf 'unknown argument: %s (usage: scripts/test.sh [--all|--long])\n' "$1" >&2
        exit 2
        ;;
esac

# A git hook hands these down, and tests that make repositories of their own would hit this one.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_COMMON_DIR GIT_PREFIX

PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
FUZZ_SECONDS="${FUZZ_SECONDS:-5}"
target_dir="${CARGO_TARGET_DIR:-$PWD/target}"

# Tests that only --all runs: each takes longer than a hundred others, and a part of it stays.
long_tests=(
    sixty_four_processes_that_each_add_fifty_tasks
    two_hundred_specs_in_one_run
    killed_at_every_point_{2..8}_of_8
    killed_at_every_point_beside_dirt
    killed_at_random_instants
    killed_at_calls_of_git_with_supervisor
    killed_at_every_24th_point_from_{7,13,19}
    killed_at_random_every_spec_ends_exactly_once
    killed_anywhere
    chaos_of_seeds_{5_to_9,10_to_14,15_to_19}
    no_work_is_paid_for_twice_wherever_a_look_at_the_base_is_killed
    a_crash_between_stash_and_clean_up_makes_no_second_entry
    of_fifty_megabytes
)

# Tests that only --long runs: most kills beside a dirty home, and hundreds of runs beside a person.
longest_tests="(test(/killed_at_every_point_beside_dirt_[2-8]/) + test(/a_person_beside_ralph_with_seeds_[1-9]/))"

# ---- steps ---------------------------------------------------------------------------------------

current="start"
started=0
report=()
skipped=()

# step NAME COMMAND…: a failing command ends the script, and the trap below says in which step.
step() {
    current="$1"
    started=$SECONDS
    printf '\n==> %s\n' "$current"
    shift
    "$@"
    report+=("$(printf '%5d s  %s' $((SECONDS - started)) "$current")")
}

# skip NAME REASON
skip() {
    printf '\n==> %s: skipped, %s\n' "$1" "$2"
    report+=("$(printf '%5s    %s: %s' 'skip' "$1" "$2")")
    skipped+=("$1")
}

# skipped_in NAME FILE: what a step could not get, it names in a file.
skipped_in() {
    while IFS= read -r why; do
        skip "$1" "$why"
    done <"$2"
}

# ahead NAME COMMAND…: begin early what a later step needs, with the processor time that the steps
# before it leave. Its result is not looked at: the step that needs it does it again, and finds it done.
ahead() {
    # In a group of its own, so that all of it can be ended.
    set -m
    nice -n 19 "${@:2}" >"$target_dir/ahead-$1.log" 2>&1 </dev/null &
    set +m
}

summary() {
    local code=$? pid
    for pid in $(jobs -rp); do
        kill -- "-$pid" 2>/dev/null || true
    done
    printf '\n==> summary\n'
    if ((${#report[@]})); then
        printf '%s\n' "${report[@]}"
    fi
    if ((code != 0)); then
        printf '%5d s  %s: FAILED (exit code %d)\n' $((SECONDS - started)) "$current" "$code"
        printf 'failed: %s\n' "$current"
    elif ((${#skipped[@]})); then
        printf 'passed in %d s, with %d skipped as listed\n' "$SECONDS" "${#skipped[@]}"
    else
        printf 'passed in %d s\n' "$SECONDS"
    fi
}
trap summary EXIT

cores() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN; }

have() { command -v "$1" >/dev/null 2>&1; }

# ---- set-up --------------------------------------------------------------------------------------

# system_tool COMMAND PACKAGE…: install it when it is missing and we may.
system_tool() {
    local command="$1"
    shift
    have "$command" && return 0
    if [[ "$(id -u)" != 0 ]] || ! have apt-get; then
        printf 'there is no %s here, and this script cannot install it (package: %s)\n' "$command" "$*"
        return 1
    fi
    printf 'installing %s\n' "$*"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "$@" >/dev/null
}

# cargo_tool COMMAND VERSION PACKAGE [OPTION…]: the installed one whatever its version, else the pinned
# one. Built without optimisation: these tools are not what takes the time, compiling them is.
cargo_tool() {
    local command="$1" version="$2"
    shift 2
    have "$command" && return 0
    printf 'installing %s %s\n' "$command" "$version"
    CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug --version "$version" "$@"
}

# python_tool NAME VERSION: into a place of its own below target/.
python_tool() {
    local place="$target_dir/python-tools"
    PATH="$place/bin:$PATH"
    have "$1" && return 0
    have python3 || return 1
    printf 'installing %s %s\n' "$1" "$2"
    python3 -m venv "$place" && "$place/bin/pip" install --quiet --disable-pip-version-check "$1==$2"
}

component() {
    cargo "$1" --version >/dev/null 2>&1 && return 0
    have rustup && rustup component add "$2"
}

# The tools that only one step needs may be missing; that step is then skipped by name.
set_up() {
    if ! have cargo; then
        printf 'there is no cargo on the PATH: install Rust with rustup, then run this again\n'
        return 1
    fi
    cargo --version
    system_tool cc gcc libc6-dev
    system_tool git git
    component fmt rustfmt || true
    component clippy clippy || true
    mkdir -p "$target_dir"
    if [[ "$mode" != short ]]; then
        cargo_tool cargo-nextest 0.9.143 cargo-nextest || true
    fi
}

# Tools of the steps that only --all has.
tools() {
    cargo_tool cargo-deny 0.20.2 cargo-deny || true
    cargo_tool cargo-fuzz 0.13.2 cargo-fuzz || true
    cargo_tool mdbook 0.5.4 --no-default-features mdbook || true
    python_tool codespell 2.4.3 || system_tool codespell codespell || true
    system_tool c++ g++ || true
}

# ---- what the steps do ---------------------------------------------------------------------------

format() {
    cargo fmt --all --check
    cargo fmt --manifest-path fuzz/Cargo.toml --check
}

# linted COMMAND…: cargo in it has clippy in the place of the compiler for our own crates, as
# `cargo clippy` does it. That compiles as well, so one pass lints and compiles.
linted() {
    if ! cargo clippy --version >/dev/null 2>&1; then
        "$@"
        return
    fi
    RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS="-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__" "$@"
}

compile_tests() {
    linted cargo test --locked --workspace --lib --bins --tests --examples --no-run --quiet
}

# All tests in the modes `all` and `long`, those that are not long in the mode `short`.
tests() {
    # Tests wait for processes, so more of them run at a time than there are cores.
    local name only="all()" skip=() threads=$(($(cores) * 3))
    # Most of their time goes to files, which are faster in memory. TMPDIR=/tmp puts them on a disk.
    if [[ -z "${TMPDIR:-}" && -w /dev/shm ]]; then
        export TMPDIR=/dev/shm
    fi
    if [[ "$mode" == short ]]; then
        export PROPTEST_CASES="${PROPTEST_CASES:-24}"
        for name in "${long_tests[@]}"; do
            only+=" - test($name)"
            skip+=(--skip "$name")
        done
    fi
    if have cargo-nextest; then
        linted cargo nextest run --locked --workspace --test-threads "$threads" -E "$only - $longest_tests"
    else
        skip+=(--skip killed_at_every_point_beside_dirt)
        skip+=(--skip a_person_beside_ralph_with_seeds_{4,66,128,190,252,314,376,438}_to)
        linted cargo test --locked --workspace --lib --bins --tests -- --test-threads "$threads" "${skip[@]}"
    fi
}

documentation() {
    RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings" cargo doc --locked --workspace --no-deps --quiet
}

# In a shell of its own, for the sake of its variables.
fuzz() (
    # No sanitizer: ralph has no unsafe code, and without one cargo-fuzz works on stable Rust.
    # Compiling takes longer than these few seconds of fuzzing: less optimisation, and on all cores.
    export CARGO_PROFILE_RELEASE_OPT_LEVEL=1
    export RUSTFLAGS="${RUSTFLAGS:-} -Ccodegen-units=16 -Cdebuginfo=line-tables-only"
    cargo fuzz build --sanitizer none
    export -f fuzz_one
    export FUZZ_SECONDS
    cargo fuzz list | xargs -P "$(cores)" -I TARGET bash -c 'fuzz_one TARGET'
)

# fuzz_one TARGET
fuzz_one() {
    local log="fuzz/artifacts/$1.log"
    mkdir -p "fuzz/corpus/$1" fuzz/artifacts
    # New finds go to the first directory, which git ignores; the seeds are only read.
    if ! cargo fuzz run --sanitizer none "$1" "fuzz/corpus/$1" "fuzz/seeds/$1" -- \
        -max_total_time="$FUZZ_SECONDS" -timeout=60 -print_final_stats=1 >"$log" 2>&1; then
        tail -n 100 "$log"
        printf 'the fuzz target %s found something\n' "$1"
        return 1
    fi
    printf '%-16s %s inputs\n' "$1" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
}

# When their installation, which began early, is over: two would be in each other's way.
real_agents() {
    wait "$agents" || true
    linted scripts/real-clis.sh
}

# Property tests with a new seed, and every kill that the other modes leave out.
long_mode() {
    local round
    for round in {1..10}; do
        export PROPTEST_RNG_SEED=$((RANDOM << 30 | RANDOM << 15 | RANDOM))
        printf 'round %d of 10: PROPTEST_RNG_SEED=%d\n' "$round" "$PROPTEST_RNG_SEED"
        cargo nextest run --locked --status-level fail -p ralph-core -p ralph-face
        PROPTEST_CASES=500 cargo nextest run --locked --status-level fail -p ralph -E 'test(random)'
    done
    cargo nextest run --locked -p ralph -E "$longest_tests"
    RALPH_KILLS="${RALPH_KILLS:-2000}" cargo nextest run --locked -p ralph --run-ignored only --no-capture \
        -E 'test(killed_at) & (binary(build) + binary(agent) + binary(construct))'
    RALPH_PERSON_SEEDS="${RALPH_PERSON_SEEDS:-5000}" cargo nextest run --locked -p ralph --run-ignored only \
        --no-capture -E 'test(a_person_beside_ralph_for_long)'
}

# ---- all of it -----------------------------------------------------------------------------------

step "set-up" set_up

if cargo fmt --version >/dev/null 2>&1; then
    step "format" format
else
    skip "format" "rustfmt is not installed (rustup component add rustfmt)"
fi

if ! cargo clippy --version >/dev/null 2>&1; then
    skip "lint" "clippy is not installed (rustup component add clippy)"
fi

if [[ "$mode" == long ]]; then
    step "long mode" long_mode
    exit
fi

step "lint and compile" compile_tests
step "tests" tests

if [[ "$mode" == short ]]; then
    exit
fi

# ---- only with --all -----------------------------------------------------------------------------

agents=
if have npm; then
    ahead agents scripts/real-clis.sh install
    agents="$!"
fi
ahead release cargo build --locked --release
step "tools" tools
step "documentation" documentation

if have mdbook; then
    step "documentation site" scripts/docs.sh
else
    skip "documentation site" "mdbook could not be installed"
fi
if have codespell; then
    step "spelling" scripts/docs.sh --spell
else
    skip "spelling" "codespell could not be installed"
fi

if have cargo-deny; then
    step "dependency rules" cargo deny check bans licenses sources
    # The advisory database lives on a host that a build machine may not reach, and a test must not
    # fail because of the network. So it is used where somebody has fetched it: `cargo deny fetch`.
    if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/*/.git" >/dev/null; then
        step "advisories" cargo deny --offline check advisories
    else
        skip "advisories" "no advisory database here (cargo deny fetch gets it)"
    fi
else
    skip "dependency rules" "cargo-deny could not be installed"
    skip "advisories" "cargo-deny could not be installed"
fi

if ! have cargo-fuzz; then
    skip "fuzz" "cargo-fuzz could not be installed"
elif ! have c++; then
    skip "fuzz" "there is no C++ compiler for libFuzzer (package: g++)"
else
    step "fuzz" fuzz
fi

# Installs 1.4 GB from npm the first time. What it could not get, it names in a file.
if [[ -z "$agents" ]]; then
    skip "real agent programs" "there is no npm on the PATH"
else
    step "real agent programs" real_agents
    skipped_in "real agent program" "${RALPH_REAL_CLIS:-$target_dir/real-clis}/skipped"
fi

# The program that the tests have built.
RALPH_BIN="$target_dir/debug/ralph"
export RALPH_BIN
step "web pages" scripts/web-tests.sh
skipped_in "web pages" "$target_dir/web-tests/skipped"
step "web API" scripts/api-tests.sh
skipped_in "web API" "$target_dir/api-tests/skipped"

step "commands of the README" scripts/readme.sh
# The program that the README's commands have built: that of a release is compiled by its workflow.
step "packages" env BINARY="$target_dir/release/ralph" scripts/package.sh --try
skipped_in "package" "$target_dir/packages/skipped"
# Benchmarks are run, not judged: a number measured on a busy machine proves nothing. So they need no
# optimisation, and what the tests have compiled is theirs too.
step "benchmarks run" linted cargo bench --locked --profile dev -p ralph -p ralph-core -p ralph-host -p ralph-web --bench startup --bench build --bench scale --bench memory --bench web -- --quick

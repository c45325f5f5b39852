#!/usr/bin/env bash
# The dashboard in a real browser: Debian's chromium, driven by playwright-core from npm.
#
#   scripts/web-tests.sh [WORDS]     only the promises whose name has these words
#   scripts/web-tests.sh --shots     new pictures for docs/images/
#
# Installs what is missing: chromium, node and npm with apt-get (as root), playwright-core into
# target/web-tests. What it cannot get stands in target/web-tests/skipped, one line.
# RALPH_BIN is the program to test; it is built when it is not said. With RALPH_ASSETS the page's files
# come from that directory instead of from the program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
place="${CARGO_TARGET_DIR:-$root/target}/web-tests"
mkdir -p "$place"
: >"$place/skipped"

skip() {
    printf '%s\n' "$1" | tee "$place/skipped"
    exit 0
}

# need COMMAND PACKAGE
need() {
    command -v "$1" >/dev/null 2>&1 && return
    if [[ "$(id -u)" != 0 ]] || ! command -v apt-get >/dev/null 2>&1; then
        skip "there is no $1 here, and this script cannot install it (package: $2)"
    fi
    printf 'installing %s\n' "$2"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2" >/dev/null \
        || skip "$2 could not be installed with apt-get"
}
need node nodejs
need npm npm
need chromium chromium

cp crates/ralph-web/tests/browser/*.mjs crates/ralph-web/tests/browser/fixture.sh "$place/"
if [[ ! -d "$place/node_modules/playwright-core" ]]; then
    printf '{"private":true,"type":"module"}\n' >"$place/package.json"
    npm install --prefix "$place" --silent --no-audit --no-fund playwright-core@1 >/dev/null \
        || skip "playwright-core could not be installed from npm"
fi
if [[ -z "${RALPH_BIN:-}" ]]; then
    cargo build --quiet --locked -p ralph
    RALPH_BIN="${CARGO_TARGET_DIR:-$root/target}/debug/ralph"
fi
export RALPH_BIN
CHROMIUM=$(command -v chromium)
export CHROMIUM

cd "$place"
if [[ "${1:-}" == --shots ]]; then
    mkdir -p "$root/docs/images"
    timeout 600 node shots.mjs "$root/docs/images"
else
    timeout 600 node run.mjs "$@"
fi

#!/bin/sh
# The dashboard in a real browser: Debian's chromium, driven by playwright-core from npm.
#
#   scripts/web-tests.sh [WORDS]     only the promises whose name has these words
#   scripts/web-tests.sh --shots     new pictures for docs/images/
#
# Installs what is missing: chromium and nodejs with apt-get (when run as root), playwright-core into
# a directory of its own. RALPH_BIN is the program to test; it is built when it is not said.
set -eu
cd "$(dirname "$0")/.."
root=$PWD

need() {
    command -v "$1" >/dev/null 2>&1 && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt-get update -qq && apt-get install -y -qq "$2" >/dev/null
    else
        echo "error: $1 is not installed (Debian: apt-get install $2)" >&2
        exit 1
    fi
}
need node nodejs
need npm npm
need chromium chromium

if [ -z "${RALPH_BIN:-}" ]; then
    cargo build --quiet -p ralph
    RALPH_BIN=${CARGO_TARGET_DIR:-$root/target}/debug/ralph
fi
export RALPH_BIN
CHROMIUM=$(command -v chromium)
export CHROMIUM

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp crates/ralph-web/tests/browser/*.mjs crates/ralph-web/tests/browser/fixture.sh "$place/"
cd "$place"
echo '{"private":true,"type":"module"}' > package.json
npm install --silent --no-audit --no-fund playwright-core@1 >/dev/null

if [ "${1:-}" = --shots ]; then
    mkdir -p "$root/docs/images"
    node shots.mjs "$root/docs/images"
else
    timeout 600 node run.mjs "$@"
fi

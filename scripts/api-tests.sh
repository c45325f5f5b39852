#!/usr/bin/env bash
# The API of `ralph serve` against its own description: Schemathesis makes requests from
# /openapi.json, right ones and wrong ones, and checks every answer.
#
#   scripts/api-tests.sh
#
# Installs Schemathesis from PyPI into target/api-tests the first time. What keeps it from running
# here stands in target/api-tests/skipped, one line. RALPH_BIN is the program to test; it is built when
# it is not said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
place="${CARGO_TARGET_DIR:-$root/target}/api-tests"
mkdir -p "$place"
: >"$place/skipped"

skip() {
    printf '%s\n' "$1" | tee "$place/skipped"
    exit 0
}

if [[ ! -x "$place/venv/bin/st" ]]; then
    command -v python3 >/dev/null 2>&1 || skip "there is no python3 on the PATH"
    python3 -m venv "$place/venv" >/dev/null 2>&1 || skip "python3 has no venv (package: python3-venv)"
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check 'schemathesis==4.*' \
        || skip "Schemathesis could not be installed from PyPI"
fi
if [[ -z "${RALPH_BIN:-}" ]]; then
    cargo build --quiet --locked -p ralph
    RALPH_BIN="${CARGO_TARGET_DIR:-$root/target}/debug/ralph"
fi

work=$(mktemp -d)
server=
trap '[[ -n "$server" ]] && kill "$server"; rm -rf "$work"' EXIT
# A project with something of everything: attempts that landed and failed, specs, a queue, memory.
sh crates/ralph-web/tests/browser/fixture.sh "$RALPH_BIN" "$work/calculator" 0s
(cd "$work/calculator" && RALPH_SIM=scenario.toml timeout 60 "$RALPH_BIN" build >"$work/build.log" 2>&1) || true
(cd "$work/calculator" && exec "$RALPH_BIN" serve --json --port 0) >"$work/link" 2>"$work/serve.log" &
server=$!
for _ in $(seq 100); do
    [[ -s "$work/link" ]] && break
    sleep 0.1
done
link=$(sed -n 's/.*"link": *"\([^"]*\)".*/\1/p' "$work/link")
[[ -n "$link" ]] || { cat "$work/serve.log"; exit 1; }
address="${link%%/\?token=*}"
token="${link##*token=}"

curl -fsS -H "Authorization: Bearer $token" "$address/openapi.json" >"$work/openapi.json"
cd "$work"
"$place/venv/bin/st" run "$work/openapi.json" --url "$address" -H "Authorization: Bearer $token" \
    --checks all --max-examples "${EXAMPLES:-25}" --workers 1 --seed 1 --generation-deterministic \
    --request-timeout 20 --no-color "$@"

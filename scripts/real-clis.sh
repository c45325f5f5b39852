#!/usr/bin/env bash
# Installs the real agent programs at pinned versions and lets them work against the scripted model
# server (crates/ralph-model), driven by ralph. No key and no account is needed, and nothing leaves
# the machine but npm's downloads.
#
#   scripts/real-clis.sh             install what is missing, then run the tests
#   scripts/real-clis.sh install     only install
#   REQUIRE=1 scripts/real-clis.sh   fail when claude or codex cannot be tested here
#
# Everything goes below target/real-clis (RALPH_REAL_CLIS to have it elsewhere): about 1.4 GB, with
# a home and an npm cache of its own, so that no configuration of this machine is read by the
# programs or changed by anybody. What cannot be tested here is named in lines of the form
# `skipped: NAME: WHY`, and as `NAME: WHY` in the file `skipped` there.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dir="${RALPH_REAL_CLIS:-${CARGO_TARGET_DIR:-$PWD/target}/real-clis}"
mkdir -p "$dir/bin" "$dir/home"
dir="$(cd "$dir" && pwd)"

# Name, package, version. The newest ones that were tried; a newer one is a change to be tested.
clis=(
    "claude @anthropic-ai/claude-code 2.1.325"
    "codex @openai/codex 0.166.0"
    "gemini @google/gemini-cli 0.61.0"
    "opencode opencode-ai 1.18.33"
)
# claude wants Node 22, and npm on an older Node takes an older claude without a word.
node_version=22.23.3
node_least=22

have() { command -v "$1" >/dev/null 2>&1; }

skipped=()
: >"$dir/skipped"
skip() {
    printf 'skipped: %s: %s\n' "$1" "$2"
    printf '%s: %s\n' "$1" "$2" >>"$dir/skipped"
    skipped+=("$1")
}

# ---- install -------------------------------------------------------------------------------------

# An empty environment but for the way to the network, and a home of its own.
alone() {
    env -i PATH="$dir/bin:$PATH" HOME="$dir/home" TMPDIR="${TMPDIR:-/tmp}" LC_ALL=C.UTF-8 \
        ${HTTPS_PROXY:+HTTPS_PROXY="$HTTPS_PROXY"} ${https_proxy:+https_proxy="$https_proxy"} \
        ${NO_PROXY:+NO_PROXY="$NO_PROXY"} ${no_proxy:+no_proxy="$no_proxy"} \
        ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS="$NODE_EXTRA_CA_CERTS"} \
        DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1 DISABLE_ERROR_REPORTING=1 \
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 OPENCODE_DISABLE_AUTOUPDATE=1 \
        "$@"
}

# setting KEY: this user's npm setting, without npm writing a log about the question.
setting() {
    npm --logs-max=0 --cache "$dir/npm-cache" config get "$1" 2>/dev/null || true
}

# npm_install NAME PACKAGE@VERSION: into a directory of its own. Npm's words go to a log.
npm_install() {
    local options=(--prefix "$dir/$1" --cache "$dir/npm-cache" --no-save --no-audit --no-fund
        --no-update-notifier --loglevel=error --fetch-retries=1 --fetch-retry-mintimeout=1000
        --fetch-timeout=120000)
    [[ -n "$registry" && "$registry" != null ]] && options+=(--registry "$registry")
    [[ -n "$cafile" && "$cafile" != null ]] && options+=(--cafile "$cafile")
    rm -rf "${dir:?}/$1"
    mkdir -p "$dir/$1"
    alone npm install "${options[@]}" "$2" >"$dir/$1.log" 2>&1
}

# The version that a program tells, which is not always the one that was asked for.
told() { alone "$dir/bin/$1" --version 2>/dev/null | tr ' ' '\n' | grep -m1 -E '^v?[0-9]+\.[0-9]+' || true; }

# install NAME PACKAGE VERSION
install() {
    local name="$1" package="$2" version="$3" started=$SECONDS found
    if [[ "$(told "$name")" == "$version" ]]; then
        printf '%-9s %s: already here\n' "$name" "$version"
        return 0
    fi
    if ! have npm; then
        skip "$name" "there is no npm on the PATH"
        return 0
    fi
    if ! npm_install "$name" "$package@$version"; then
        skip "$name" "npm could not install $package@$version: $(grep -m1 -v '^ *$' "$dir/$name.log" || echo "see $dir/$name.log")"
        return 0
    fi
    ln -sfn "../$name/node_modules/.bin/$name" "$dir/bin/$name"
    found="$(told "$name")"
    if [[ -z "$found" ]]; then
        # A part that npm calls optional may be missing: no network for it, or a full disk.
        skip "$name" "$version was installed and does not run here: $(alone "$dir/bin/$name" --version 2>&1 | grep -m1 . || true)"
        return 0
    fi
    if [[ "$found" != "$version" ]]; then
        printf '%s: asked npm for %s, got %s (see %s)\n' "$name" "$version" "$found" "$dir/$name.log"
        return 1
    fi
    printf '%-9s %s: installed in %d s, %s\n' "$name" "$version" $((SECONDS - started)) "$(du -sh "$dir/$name" | cut -f1)"
}

# A Node that is new enough: this machine's, or one from npm.
install_node() {
    local major
    major="$(node --version 2>/dev/null | sed -E 's/^v([0-9]+).*/\1/' || true)"
    if [[ "${major:-0}" -ge "$node_least" ]]; then
        rm -f "$dir/bin/node"
        printf '%-9s %s: of this machine\n' node "$(node --version)"
    elif [[ "$(told node)" == "v$node_version" ]]; then
        printf '%-9s %s: already here\n' node "$node_version"
    elif have npm && npm_install node "node@$node_version"; then
        ln -sfn "../node/node_modules/node/bin/node" "$dir/bin/node"
        printf '%-9s %s: installed, this machine has %s\n' node "$(told node)" "${major:-none}"
    else
        rm -f "$dir/bin/node"
    fi
}

install_all() {
    local registry='' cafile='' cli
    if have npm; then
        registry="$(setting registry)"
        cafile="$(setting cafile)"
    fi
    install_node
    for cli in "${clis[@]}"; do
        # shellcheck disable=SC2086  # three words
        install $cli
    done
    rm -rf "$dir/npm-cache"
}

# ---- test ----------------------------------------------------------------------------------------

run_tests() {
    local names=() cli filter
    for cli in "${clis[@]}"; do
        cli="${cli%% *}"
        [[ " ${skipped[*]-} " == *" $cli "* ]] || names+=("$cli")
    done
    if ! ((${#names[@]})); then
        printf 'no agent program could be installed, so there is nothing to test\n'
        return 0
    fi
    export RALPH_REAL_CLIS="$dir"
    if have cargo-nextest; then
        filter="$(printf ' + test(/^%s::/)' "${names[@]}")"
        cargo nextest run --locked --workspace --test real_clis --run-ignored all -E "${filter# + }"
    else
        cargo test --locked --workspace --test real_clis -- --include-ignored "${names[@]/%/::}"
    fi
}

install_all
if [[ "${1:-}" != install ]]; then
    run_tests
fi

if [[ "${REQUIRE:-0}" == 1 ]]; then
    for name in "${skipped[@]-}"; do
        case "$name" in
        claude | codex)
            printf '%s must be tested (REQUIRE=1), but was skipped\n' "$name"
            exit 1
            ;;
        esac
    done
fi

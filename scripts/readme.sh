#!/usr/bin/env bash
# Runs the commands of the README as they stand there, in a fresh clone of the last commit, with a home
# of their own. What is compiled goes to the target directory of this checkout, so that the same code is
# compiled once.
#
# Lines of `sh` blocks that begin with `cargo` are run here. A block with a `setup:` comment is run by the
# tests of the documentation (crates/ralph/tests/docs). scripts/test.sh is what calls this. Any other line
# is an error: nobody would know whether it works.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"
export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
export CARGO_INSTALL_ROOT="$room/installed" HOME="$room/home" NO_COLOR=1
unset RALPH_BIN
mkdir "$HOME"

git clone --quiet --no-hardlinks "$root" "$room/clone"
cd "$room/clone"
# Cargo compiles again what is newer than its objects.
git ls-files -z | xargs -0 -I FILE sh -c '[ -e "$1/$2" ] && touch -r "$1/$2" "$2" || true' sh "$root" FILE

# Each line of an `sh` block, with the comment before the block in front.
lines=$(awk '
    /^<!--/ { comment = $0 }
    /^```/ && inside { inside = 0; comment = ""; next }
    /^```sh$/ { inside = 1; next }
    inside { print comment "\t" $0 }
    !inside && /^[^<]/ { comment = "" }
' README.md)

ran=0
while IFS=$'\t' read -r comment line; do
    case "$comment$line" in
        *'<!-- setup: '*) ;;
        *'cargo '*)
            printf '$ %s\n' "$line"
            bash -euc "$line" </dev/null >"$room/output" 2>&1 || {
                tail -n 50 "$room/output"
                printf 'this line of the README failed: %s\n' "$line"
                exit 1
            }
            tail -n 3 "$room/output"
            ran=$((ran + 1))
            ;;
        *'scripts/test.sh'*) [[ -x scripts/test.sh ]] ;;
        *)
            printf 'nothing runs this line of the README: %s\n' "$line"
            exit 1
            ;;
    esac
done <<<"$lines"
if ((ran < 2)); then
    printf 'only %d commands were found in the README\n' "$ran"
    exit 1
fi
"$CARGO_INSTALL_ROOT/bin/ralph" --version

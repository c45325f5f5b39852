#!/usr/bin/env bash
# Packs a ralph binary that was built before, the same here as in the release workflow.
#
#   scripts/package.sh                        target/release/ralph → target/dist/
#   scripts/package.sh --try                  and installs each package into an empty place and runs it
#   BINARY=… TARGET=… DIST=… scripts/package.sh
#
# Makes ralph-VERSION-TARGET.tar.gz, on Linux with dpkg-deb a .deb, and of all archives in DIST the
# npm package, the Homebrew formula and SHA256SUMS. What cannot be made or tried here is named, and
# stands in DIST/skipped.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target_dir="${CARGO_TARGET_DIR:-$PWD/target}"
TARGET="${TARGET:-$(rustc -vV | sed -n 's/^host: //p')}"
BINARY="${BINARY:-$target_dir/release/ralph}"
DIST="${DIST:-$target_dir/dist}"

if [[ ! -x "$BINARY" ]]; then
    printf 'there is no %s: build it first (cargo build --release)\n' "$BINARY" >&2
    exit 1
fi
rm -rf "$DIST"
mkdir -p "$DIST"
: >"$DIST/skipped"

BINARY="$BINARY" TARGET="$TARGET" packaging/archive.sh "$DIST"
case "$TARGET" in
    *-linux-*)
        if command -v dpkg-deb >/dev/null; then
            packaging/deb.sh "$DIST" "$DIST"/ralph-*-"$TARGET".tar.gz
        else
            printf '.deb: there is no dpkg-deb\n' | tee -a "$DIST/skipped"
        fi
        ;;
esac
packaging/collect.sh "$DIST"

if [[ "${1:-}" == --try ]]; then
    packaging/try.sh "$DIST" "$TARGET"
fi

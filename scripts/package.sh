#!/usr/bin/env bash
# Builds ralph for a release and packs it, the same here as in the release workflow.
#
#   scripts/package.sh                        the profile `dist` → target/packages/
#   scripts/package.sh --try                  and installs each package into an empty place and runs it
#   BINARY=… TARGET=… DIST=… scripts/package.sh        packs a binary that was built before
#
# Makes ralph-VERSION-TARGET.tar.gz, on Linux with dpkg-deb a .deb, and of all archives in DIST the
# npm package, the Homebrew formula and SHA256SUMS. What cannot be made or tried here is named, and
# stands in DIST/skipped.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target_dir="${CARGO_TARGET_DIR:-$PWD/target}"
TARGET="${TARGET:-$(rustc -vV | sed -n 's/^host: //p')}"
DIST="${DIST:-$target_dir/packages}"

if [[ -z "${BINARY:-}" ]]; then
    cargo build --locked --profile dist -p ralph
    BINARY="$target_dir/dist/ralph"
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

#!/usr/bin/env bash
# BINARY=… TARGET=… packaging/archive.sh DIST: ralph-VERSION-TARGET.tar.gz, a tree to put below a prefix.
#
# Manual pages and completions are written by the binary itself. HOST_BINARY is a ralph that runs here,
# for a BINARY that does not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dist="$1"
host="${HOST_BINARY:-$BINARY}"
version=$("$host" --version | cut -d' ' -f2)
name="ralph-$version-$TARGET"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree="$work/$name"

mkdir -p "$tree"/bin "$tree"/share/man/man1 "$tree"/share/doc/ralph \
    "$tree"/share/bash-completion/completions "$tree"/share/zsh/site-functions \
    "$tree"/share/fish/vendor_completions.d
cp "$BINARY" "$tree/bin/ralph"
chmod 755 "$tree/bin/ralph"
"$host" man "$tree/share/man/man1" >/dev/null
"$host" completions bash >"$tree/share/bash-completion/completions/ralph"
"$host" completions zsh >"$tree/share/zsh/site-functions/_ralph"
"$host" completions fish >"$tree/share/fish/vendor_completions.d/ralph.fish"
cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$tree/share/doc/ralph/"

# The same input gives the same bytes, where tar can do that.
when="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
if tar --version 2>/dev/null | grep -q GNU; then
    tar -C "$work" --sort=name --mtime="@$when" --owner=0 --group=0 --numeric-owner -cf - "$name" |
        gzip -6n >"$dist/$name.tar.gz"
else
    tar -C "$work" -cf - "$name" | gzip -6n >"$dist/$name.tar.gz"
fi
printf '%s.tar.gz\n' "$name"

#!/usr/bin/env bash
# packaging/try.sh DIST TARGET: installs each package into an empty place, with an empty home and nothing
# else on the PATH but the system, and lets `ralph --version` and `ralph demo` run there. What cannot be
# tried on this machine is named, and written to DIST/skipped.
set -euo pipefail
dist=$(cd "$1" && pwd)
target="$2"
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

skip() { printf '%s\n' "$1" | tee -a "$dist/skipped"; }

# works NAME PROGRAM [DIRECTORY…]: directories are added to the PATH.
works() {
    local name="$1" program="$2" path="/usr/local/bin:/usr/bin:/bin"
    shift 2
    local directory
    for directory in "$@"; do path="$directory:$path"; done
    local home="$room/home-$name"
    mkdir -p "$home"
    # The program may not know the toolchain, the configuration or the project of whoever runs this.
    local clean=(env -i HOME="$home" PATH="$path" LC_ALL=C.UTF-8 NO_COLOR=1)
    local version
    version=$(cd "$home" && "${clean[@]}" "$program" --version)
    (cd "$home" && "${clean[@]}" timeout 120 "$program" demo >demo.log 2>&1) || {
        cat "$home/demo.log"
        printf '%s: `ralph demo` failed\n' "$name"
        exit 1
    }
    grep -q '^Complete: ' "$home/demo.log"
    printf '%-8s %s, demo complete\n' "$name" "$version"
}

(cd "$dist" && if command -v sha256sum >/dev/null; then sha256sum --quiet -c SHA256SUMS; else
    shasum -a 256 --quiet -c SHA256SUMS; fi)

mkdir "$room/tar"
tar -xzf "$dist"/ralph-*-"$target".tar.gz --strip-components=1 -C "$room/tar"
works tar "$room/tar/bin/ralph"
test -s "$room/tar/share/man/man1/ralph-build.1"
test -s "$room/tar/share/bash-completion/completions/ralph"

if compgen -G "$dist/*.deb" >/dev/null; then
    if [[ "$(id -u)" == 0 ]]; then
        # Really installed and removed, in a root and a database of its own.
        mkdir -p "$room"/root/var/lib/dpkg/{info,updates,triggers}
        : >"$room/root/var/lib/dpkg/status"
        dpkg --root="$room/root" --force-depends --force-not-root --install "$dist"/*.deb >"$room/dpkg.log" 2>&1 ||
            { cat "$room/dpkg.log"; exit 1; }
        works deb "$room/root/usr/bin/ralph"
        dpkg --root="$room/root" --force-not-root --remove ralph >"$room/dpkg.log" 2>&1 ||
            { cat "$room/dpkg.log"; exit 1; }
        test ! -e "$room/root/usr/bin/ralph"
    else
        dpkg-deb --extract "$dist"/*.deb "$room/deb"
        works deb "$room/deb/usr/bin/ralph"
    fi
fi

if command -v npm >/dev/null && command -v node >/dev/null; then
    mkdir "$room/npm-home"
    HOME="$room/npm-home" npm install --silent --no-audit --no-fund --offline --global \
        --prefix "$room/npm" "$dist"/ralph-loop-*.tgz
    works npm "$room/npm/bin/ralph" "$(dirname "$(readlink -f "$(command -v node)")")"
else
    skip "npm package: there is no npm to install it with"
fi

if command -v ruby >/dev/null; then
    ruby -c "$dist/ralph.rb" >/dev/null
    printf '%-8s the syntax is right\n' formula
else
    skip "Homebrew formula: there is no ruby to read it"
fi
command -v brew >/dev/null || skip "Homebrew formula: there is no brew to install it with"

#!/usr/bin/env bash
# packaging/collect.sh DIST [URL]: makes of all archives together the npm package, the Homebrew formula, and
# SHA256SUMS over everything. URL is where the archives will be; without it the formula takes the archive
# that lies beside it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
url="${2:-file://#{__dir__\}}"

sha256() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

archives=(ralph-*.tar.gz)
version=${archives[0]#ralph-}
version=${version%%-*}

# ---- npm: one package with the binaries of all machines, and a few lines that choose ----------------

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/package/bin"
cp "$here/npm/ralph.js" "$work/package/bin/"
cp "$here/npm/README.md" "$here/../LICENSE-MIT" "$here/../LICENSE-APACHE" "$work/package/"
sed "s/@VERSION@/$version/" "$here/npm/package.json" >"$work/package/package.json"
for archive in "${archives[@]}"; do
    case "$archive" in
        *-x86_64-*linux*) machine=linux-x64 ;;
        *-aarch64-*linux*) machine=linux-arm64 ;;
        *-x86_64-apple-darwin*) machine=darwin-x64 ;;
        *-aarch64-apple-darwin*) machine=darwin-arm64 ;;
        *) continue ;;
    esac
    mkdir -p "$work/package/vendor/$machine"
    tar -xzOf "$archive" "${archive%.tar.gz}/bin/ralph" >"$work/package/vendor/$machine/ralph"
    chmod 755 "$work/package/vendor/$machine/ralph"
done
chmod 755 "$work/package/bin/ralph.js"
tar -C "$work" -czf "ralph-loop-$version.tgz" package
printf 'ralph-loop-%s.tgz\n' "$version"

# ---- Homebrew: a formula that takes the archive of each machine --------------------------------------

# block TARGET WHERE: nothing when there is no archive for it.
block() {
    local file="ralph-$version-$1.tar.gz"
    [[ -f "$file" ]] || return 0
    printf '    %s do\n' "$2"
    printf '      url "%s/%s"\n' "$url" "$file"
    printf '      sha256 "%s"\n    end\n' "$(sha256 "$file" | cut -d' ' -f1)"
}
{
    printf 'class Ralph < Formula\n'
    printf '  desc "Drives coding agents through specs until the work is proven done"\n'
    printf '  version "%s"\n  license any_of: ["MIT", "Apache-2.0"]\n\n' "$version"
    printf '  on_macos do\n'
    block aarch64-apple-darwin on_arm
    block x86_64-apple-darwin on_intel
    printf '  end\n\n  on_linux do\n'
    block aarch64-unknown-linux-musl on_arm
    block x86_64-unknown-linux-musl on_intel
    printf '  end\n\n'
    printf '  def install\n    bin.install "bin/ralph"\n    man1.install Dir["share/man/man1/*.1"]\n'
    printf '    bash_completion.install "share/bash-completion/completions/ralph"\n'
    printf '    zsh_completion.install "share/zsh/site-functions/_ralph"\n'
    printf '    fish_completion.install "share/fish/vendor_completions.d/ralph.fish"\n  end\n\n'
    printf '  test do\n    assert_match version.to_s, shell_output("#{bin}/ralph --version")\n  end\nend\n'
} >ralph.rb
printf 'ralph.rb\n'

files=()
for file in *.tar.gz *.deb *.tgz ralph.rb; do
    [[ -f "$file" ]] && files+=("$file")
done
sha256 "${files[@]}" >SHA256SUMS
printf 'SHA256SUMS, %d files\n' "${#files[@]}"

#!/usr/bin/env bash
# packaging/deb.sh DIST ARCHIVE: a Debian package of what is in an archive for Linux.
set -euo pipefail

dist="$1"
archive="$2"
name=$(basename "$archive" .tar.gz)
case "$name" in
    *-x86_64-*) arch=amd64 ;;
    *-aarch64-*) arch=arm64 ;;
    *)
        printf 'no Debian name for the machine of %s\n' "$name" >&2
        exit 1
        ;;
esac
version=${name#ralph-}
version=${version%%-*}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root="$work/root"

mkdir -p "$root/usr" "$root/DEBIAN"
tar -xzf "$archive" --strip-components=1 -C "$root/usr"
# As Debian's policy wants them.
gzip -9n "$root"/usr/share/man/man1/*.1 "$root/usr/share/doc/ralph/CHANGELOG.md"
mkdir -p "$root/usr/share/zsh/vendor-completions"
mv "$root/usr/share/zsh/site-functions/_ralph" "$root/usr/share/zsh/vendor-completions/"
rmdir "$root/usr/share/zsh/site-functions"
{
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n'
    printf 'Files: *\nCopyright: the authors of ralph\nLicense: MIT or Apache-2.0\n'
    printf ' The texts are beside this file.\n'
} >"$root/usr/share/doc/ralph/copyright"
rm -f "$root/usr/share/doc/ralph/README.md"

depends="git (>= 1:2.40)"
# A static binary needs no C library.
if ! LC_ALL=C ldd "$root/usr/bin/ralph" 2>&1 | grep -q 'statically linked\|not a dynamic'; then
    depends="$depends, libc6"
fi
cat >"$root/DEBIAN/control" <<CONTROL
Package: ralph
Version: $version
Architecture: $arch
Maintainer: the authors of ralph
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: $depends
Section: devel
Priority: optional
Description: drives coding agents through specs until the work is proven done
 ralph starts a coding agent for each task of a plan, runs the tests itself, and commits what passes
 or rolls back what does not. Plan, queue and history are plain files in the repository.
CONTROL
dpkg-deb --root-owner-group -Zxz -z2 --build "$root" "$dist/ralph_${version}_$arch.deb" >/dev/null
printf 'ralph_%s_%s.deb\n' "$version" "$arch"

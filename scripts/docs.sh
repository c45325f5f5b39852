#!/usr/bin/env bash
# The documentation in docs/: as a site, its generated pages, its spelling.
#
#   scripts/docs.sh             builds the site into target/book (needs mdbook)
#   scripts/docs.sh --update    writes the generated pages anew
#   scripts/docs.sh --spell     looks for spelling mistakes (needs codespell)
#
# Commands, links and anchors are checked by `cargo nextest run -p ralph --test docs`.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"

site() {
    # A warning of mdbook is a page that will not look right.
    local log
    log=$(mktemp)
    if ! mdbook build >"$log" 2>&1 || grep -q ' WARN\|\[WARN\]\|ERROR' "$log"; then
        cat "$log"
        rm -f "$log"
        printf 'the site could not be built without a warning\n'
        return 1
    fi
    rm -f "$log"
    local page out missing=0
    # Every page of the sources is a page of the site.
    while IFS= read -r page; do
        out="target/book/${page#docs/}"
        out="${out%.md}.html"
        out="${out/README.html/index.html}"
        if [[ ! -s "$out" ]]; then
            printf 'there is no %s\n' "$out"
            missing=1
        fi
    done < <(find docs -name '*.md' ! -name SUMMARY.md)
    ((missing == 0))
    printf 'target/book/index.html, %d pages\n' "$(find target/book -name '*.html' | wc -l)"
}

update() {
    local run="nextest run"
    cargo nextest --version >/dev/null 2>&1 || run="test"
    # shellcheck disable=SC2086  # two words
    RALPH_UPDATE=1 cargo $run --locked -p ralph-core --test configuration_page
    # shellcheck disable=SC2086
    RALPH_UPDATE=1 cargo $run --locked -p ralph --test docs generated
}

spell() {
    git ls-files -z -- '*.md' '*.rs' '*.sh' '*.toml' '*.py' '*.yml' ':!*_tests.rs' ':!*/tests/*' |
        xargs -0 codespell --ignore-words scripts/spelling.txt
}

case "${1:-}" in
    "") site ;;
    --update) update ;;
    --spell) spell ;;
    *)
        sed -n '2,8s/^# \{0,1\}//p' "$0"
        exit 2
        ;;
esac

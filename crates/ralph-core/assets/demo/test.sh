#!/bin/sh
# Runs every file in tests/ and fails if one of them does. Needs a POSIX shell only.
cd "$(dirname "$0")" || exit 1

# expect RESULT A OP B
expect() {
    wanted=$1
    shift
    got=$(sh ./calc.sh "$@" 2>/dev/null) || got="an error"
    if [ "$got" = "$wanted" ]; then
        echo "ok   $*"
    else
        echo "FAIL $*: expected $wanted, got $got"
        failed=1
    fi
}

failed=0
for file in tests/*.sh; do
    . "./$file"
done
exit "$failed"

#!/bin/sh
# calc.sh A OP B: whole numbers only.
set -eu

if [ $# -ne 3 ]; then
    echo "usage: calc.sh A OP B" >&2
    exit 2
fi

case "$2" in
    *) echo "unknown operation: $2" >&2; exit 2 ;;
esac

# Tests greet.sh, then runs every test below tests/.
set -e
test "$(sh greet.sh Ada)" = "Hello, Ada!"
for t in tests/*.sh; do
    test ! -e "$t" || sh "$t"
done

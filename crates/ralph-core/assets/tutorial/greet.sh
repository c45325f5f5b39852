# Says hello: sh greet.sh NAME
echo "Hello, ${1:-world}!"

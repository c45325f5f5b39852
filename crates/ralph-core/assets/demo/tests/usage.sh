expect "an error" 1
expect "an error" 1 no-such-operation 2

// Package protocol is how the code of a stage speaks with Go: the words of the argument block, the
// sites that it reports, pauses and calls of Go functions, and code behind the code.
//
// Generated code can yield: it saves every register that it may use into the block and returns to
// Go, which continues at the resume entry of the stage. That is how the collector and other
// goroutines get their turn in long loops, and how functions without vector code are called.
package protocol

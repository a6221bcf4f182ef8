// Package analysis finds in loop IR what code for lanes has to know before it is selected: how
// values differ between lanes, which loop makes the best lanes and whether lanes pay at all, what
// indices are sums of, which rows may run at once, which fields are loaded together, and whether
// the result can differ from the Go function's.
//
// It knows no instruction and no register, and changes no kernel: what it makes are copies.
package analysis

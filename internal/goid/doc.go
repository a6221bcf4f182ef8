// Package goid tells goroutines apart without a look at their stacks.
package goid

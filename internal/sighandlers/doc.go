// Package sighandlers keeps the signal handlers of the Go runtime while a foreign library is
// opened or compiles, which may set its own.
package sighandlers

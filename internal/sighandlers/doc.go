// Package sighandlers keeps the signal handlers of the Go runtime while a foreign library is
// opened, which may set its own.
package sighandlers

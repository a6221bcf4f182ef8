package smp

import "github.com/gompss/gompss/internal/goid"

// bodies are the goroutines that run what is taken from a Source: those of all workers, and others
// for as long as they stand in for one.
var bodies goid.Set

// InBody reports whether the calling goroutine runs what was taken from a Source, of whichever
// Workers. A goroutine that such work starts does not.
func InBody() bool { return bodies.Has() }

// StandIn says that the calling goroutine, which is none of a worker, is about to run what was
// taken from a Source. The function that it returns says that this has ended, on the same
// goroutine.
func StandIn() (end func()) { return bodies.Enter() }

//go:build amd64 || arm64

package dist

import "github.com/gompss/gompss/dist/mpi"

// LimitMPI has Init cut messages into parts of some bytes, ask for the level Serialized, and use so
// many tags.
func LimitMPI(bytes, tags int) { part, level, maxTags = bytes, mpi.Serialized, tags }

// LevelOf returns the thread level of a World of MPI.
func LevelOf(w *World) string {
	if t, ok := w.transport.(*mpiTransport); ok {
		return t.process.Level().String()
	}
	return "none"
}

//go:build amd64 || arm64

package dist

import "github.com/gompss/gompss/dist/mpi"

// LimitMPI has Init cut messages into parts of some bytes, and ask for the level Serialized.
func LimitMPI(bytes int) { part, level = bytes, mpi.Serialized }

// LevelOf returns the thread level of a World of MPI.
func LevelOf(w *World) string {
	if t, ok := w.transport.(*mpiTransport); ok {
		return t.process.Level().String()
	}
	return "none"
}

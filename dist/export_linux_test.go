//go:build amd64 || arm64

package dist

import "github.com/gompss/gompss/dist/mpi"

// LimitMPI has Init cut messages into parts of some bytes, ask for the level Serialized, use so
// many tags, and send no more than small bytes with their key.
func LimitMPI(bytes, tags, small int) {
	part, level, maxTags, eager = bytes, mpi.Serialized, tags, small
}

// LevelOf returns the thread level of a World of MPI.
func LevelOf(w *World) string {
	if t, ok := w.transport.(*mpiTransport); ok {
		return t.process.Level().String()
	}
	return "none"
}

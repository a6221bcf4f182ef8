package devices

// pieceBytes is how much CopyBytes copies without a point at which its goroutine can be stopped:
// some tens of microseconds of memory traffic.
const pieceBytes = 256 << 10

// CopyBytes copies as many bytes from from to to as both have, and returns their number. The
// built-in copy cannot be stopped before its end, so that a collector, and with it the program,
// waits for all of a large one; this one can be stopped between pieces.
func CopyBytes(to, from []byte) int {
	n := min(len(to), len(from))
	for at := 0; at < n; at += pieceBytes {
		copyPiece(to[at:n], from[at:n])
	}
	return n
}

// copyPiece is no part of its caller: a goroutine is stopped where a function begins.
//
//go:noinline
func copyPiece(to, from []byte) { copy(to[:min(pieceBytes, len(to))], from) }

package dist

// SetPieces replaces the length of the pieces of large messages, for all ranks of this process.
func SetPieces(bytes int64) (reset func()) {
	old := pieceBytes
	pieceBytes = bytes
	return func() { pieceBytes = old }
}

// TransportOf returns the transport of a world.
func TransportOf(w *World) Transport { return w.transport }

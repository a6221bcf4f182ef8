//go:build !unix

package sim

const canGuard = false

// reserve returns plain Go memory: without guards, touching what is not backed shows as poison
// only.
func reserve(size int, _ bool) ([]byte, error) { return make([]byte, size), nil }

func release([]byte) error { return nil }

func open([]byte) error { return nil }

func shut([]byte) error { return nil }

package kernel

// Float is the constraint of generic kernels and helpers that work on floats.
type Float interface {
	~float32 | ~float64
}

// Integer is the constraint of generic kernels and helpers that work on integers.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

package cpu_test

// fusedError bounds how far a float of a Go function may be from that of a variant where Go's compiler fuses x*y + z, as it
// does with GOAMD64=v3 and on arm64: variants never fuse without a clause that permits it. It is 0 where Go does not fuse either,
// and variants give the bits of the Go function. Relative, or absolute below 1.
var fusedError = map[bool]float64{true: 1e-5}[fuses(1+0x1p-30, 1+0x1p-30, -1-0x1p-29)]

// fuses reports whether the compiler has fused the product and the sum.
//
//go:noinline
func fuses(x, y, z float64) bool { return x*y+z != float64(x*y)+z }

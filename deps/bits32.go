//go:build 386 || arm || mips || mipsle

package deps

// The compiler names this where GOMPSs is built for a processor of 32 bits: kernels have ints and
// addresses of 64 bits on every device.
var _ = gompss_needs_a_64_bit_GOARCH_such_as_amd64_or_arm64

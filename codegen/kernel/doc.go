// Package kernel has functions for kernels that the Go library lacks: math functions of float32 and
// float64, the number of the calling thread in its team and in the league, and the team barrier.
//
// Every function has a Go body. It runs if the kernel is called as a plain Go function, and then
// the league is one team of one thread. On a device, the call is compiled to an operation of the
// device.
package kernel

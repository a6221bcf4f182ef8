// Package driver is the part of the CUDA plug-in that knows the libraries and no device: where
// libcuda and NVRTC are found, how they are called without cgo, what their results mean, the
// compiler, and the compiled programs on disk.
//
// Calls take plain words. Memory that the driver reads or writes by address is a Block, or is kept
// alive by the caller. Opening a library and the first calls into it keep Go's signal handlers.
package driver

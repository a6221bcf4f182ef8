// Package opencl prints device IR as OpenCL C 1.2.
//
// The text means what Go means, bit for bit: integers wrap around, nothing is contracted, a failed
// check ends the team without the access. A slice is three values (address, length, capacity) and
// an address belongs to one address space, which is found from what is assigned to it; a function
// exists once for each combination of spaces of its arguments.
//
// A team meets at barriers that all of its threads must reach, so a failed check beside barriers
// does not return: it jumps to the next place where the team meets, and there all threads leave
// together (meet.go). Where the compiler takes instructions of NVIDIA's GPUs, the thread exits.
//
// Package devices/opencl compiles and runs the text.
package opencl

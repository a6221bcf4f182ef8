// Package launch decides what one launch on a GPU is: the grid, by what the chip allows the kernel;
// the block of arguments; and whether the host proves the checks, so that a program without them
// runs.
//
// It is pure: it calls no driver, and its answers depend on its arguments alone.
package launch

// Package kernel holds what a kernel may call that Go lacks: float functions that work in both
// widths, the place of a thread in the league, and the barrier of a team.
//
// Every function has a Go body, which is what runs when a kernel is called as a plain Go function:
// the run of a league of one team of one thread. Compiled for a device, a call becomes the device's
// own operation.
package kernel

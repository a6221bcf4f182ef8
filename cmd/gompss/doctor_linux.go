package main

import (
	"math"
	"syscall"

	"github.com/gompss/gompss/deps"
)

const lockedMemory = 8 // RLIMIT_MEMLOCK

// lockLimit returns the limit of memory that a process may lock.
func lockLimit() (string, bool) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(lockedMemory, &l); err != nil {
		return "", false
	}
	if l.Cur > math.MaxInt64 {
		return "none", true
	}
	return deps.Bytes(l.Cur).String(), true
}

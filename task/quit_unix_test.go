//go:build unix

package task_test

import (
	"os"
	"syscall"
)

func quitSignal() (os.Signal, bool) { return syscall.SIGQUIT, true }

//go:build !unix

package task_test

import "os"

func quitSignal() (os.Signal, bool) { return nil, false }

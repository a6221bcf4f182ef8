//go:build !unix

package taskbench

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return 0 }

//go:build !race

package task

import (
	"os"
	"testing"

	"github.com/gompss/gompss/task/internal/engine"
)

// What nobody watches takes a task at most a nanosecond.
func TestUnwatchedTasksPayLittle(t *testing.T) {
	bound := 6.0 // others may use the machine
	if os.Getenv("GOMPSS_SOAK") != "" {
		bound = 1
	}
	rt := &engine.Runtime{}
	var extra float64
	for range 20 { // until nobody has disturbed it
		if extra = leastOf(func() int { return asks(rt) }) - leastOf(func() int { return asksNothing(rt) }); extra <= bound {
			return
		}
	}
	t.Errorf("%.2f ns a task", extra)
}

//go:build !race

package task

import (
	"os"
	"testing"
)

// What nobody watches takes a task at most a nanosecond.
func TestUnwatchedTasksPayLittle(t *testing.T) {
	bound := 6.0 // others may use the machine
	if os.Getenv("GOMPSS_SOAK") != "" {
		bound = 1
	}
	rt := &Runtime{}
	var extra float64
	for range 20 { // until nobody has disturbed it
		if extra = leastOf(rt.asks) - leastOf(rt.asksNothing); extra <= bound {
			return
		}
	}
	t.Errorf("%.2f ns a task", extra)
}

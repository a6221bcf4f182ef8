//go:build !race

package task

import "testing"

// What nobody watches takes a task at most a nanosecond.
func TestUnwatchedTasksPayLittle(t *testing.T) {
	rt := &Runtime{}
	var extra float64
	for range 20 { // until nobody has disturbed it
		if extra = leastOf(rt.asks) - leastOf(rt.asksNothing); extra <= 1 {
			return
		}
	}
	t.Errorf("%.2f ns a task", extra)
}

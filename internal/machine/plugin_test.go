package machine

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
)

// lateEvent has happened; its Then panics after the call.
type lateEvent struct{ devices.Event }

var errLate = errors.New("late")

func (lateEvent) Then(f func(error)) {
	f(nil)
	panic(errLate)
}

// TestPlugin_PanicInAContinuation: an event of which Then panics after it has called the
// continuation is a fault of the device, also where that happens in another continuation.
func TestPlugin_PanicInAContinuation(t *testing.T) {
	p, ran := &plugin{name: "late"}, 0
	inner := &continuation{run: func(error) { ran++ }}
	outer := &continuation{run: func(error) {
		ran++
		p.then(lateEvent{}, inner, inner.call)
	}}
	require.NotPanics(t, func() { p.then(lateEvent{}, outer, outer.call) })
	require.Equal(t, 2, ran)
	require.ErrorIs(t, p.broke.Load(), errLate)
}

// TestPlugin_PanicOfAContinuation: a panic of the continuation is none of the device.
func TestPlugin_PanicOfAContinuation(t *testing.T) {
	p := &plugin{name: "late"}
	c := &continuation{run: func(error) { panic("gompss: bug: made for this test") }}
	require.PanicsWithValue(t, "gompss: bug: made for this test", func() { p.then(lateEvent{}, c, c.call) })
	require.Nil(t, p.broke.Load())
}

package task

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task/internal/values"
)

type somePointers struct {
	_ int64
	_ [2]struct{ _ string }
}

// What an access says of its elements is what reflection says of their type.
func TestHoldsPointers(t *testing.T) {
	holds[int8](t)
	holds[uintptr](t)
	holds[float64](t)
	holds[complex128](t)
	holds[[3]int32](t)
	holds[struct {
		_ int8
		_ [4]float32
	}](t)
	holds[struct{}](t)
	holds[*int](t)
	holds[string](t)
	holds[[]int](t)
	holds[map[int]int](t)
	holds[chan int](t)
	holds[func()](t)
	holds[any](t)
	holds[error](t)
	holds[[2]string](t)
	holds[somePointers](t)
	o := InOut(make([]somePointers, 3))
	require.EqualValues(t, 40, o.memory().Elem)
	o = o.Box([]int{3}, []int{1}, []int{2})
	require.NotZero(t, o.kind&pointerBit)
	require.EqualValues(t, 40, o.memory().Elem)
}

func holds[T any](t *testing.T) {
	require.Equal(t, values.CheckNoPointers(reflect.TypeFor[T]()) != nil, values.HoldsPointers[T](), reflect.TypeFor[T]())
}

package sizing

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
)

func argsOf(values ...uint64) (out []devices.Arg) {
	for _, v := range values {
		out = append(out, devices.Arg{Bits: v})
	}
	return out
}

func TestPlan_TheFirstSizesAtOnce(t *testing.T) {
	k := New[string]([]int{0, 2})
	_, ok := k.Find(argsOf(8, 1, 32))
	require.False(t, ok)
	when, values := k.Plan(argsOf(8, 1, 32), false)
	require.Equal(t, Now, when)
	require.Equal(t, []Value{{0, 8}, {2, 32}}, values)
	k.Add(values, "8, 32")
	made, ok := k.Find(argsOf(8, 7, 32))
	require.True(t, ok, "argument 1 is no size")
	require.Equal(t, "8, 32", made)
	_, ok = k.Find(argsOf(8, 1, 33))
	require.False(t, ok)

	when, _ = k.Plan(argsOf(8, 1, 33), false)
	require.Equal(t, Now, when, "a second form is waited for, too")
	when, _ = k.Plan(argsOf(8, 1, 34), false)
	require.Equal(t, Never, when, "then code for all sizes is made")
}

func TestPlan_WhatComesAgainGetsAForm(t *testing.T) {
	k := New[int]([]int{0})
	for n := range repeated {
		when, values := k.Plan(argsOf(5), true)
		if n < repeated-1 {
			require.Equal(t, Never, when)
			continue
		}
		require.Equal(t, Later, when)
		require.Equal(t, []Value{{0, 5}}, values)
	}
	when, _ := k.Plan(argsOf(5), true)
	require.Equal(t, Never, when, "it is planned once")
}

func TestPlan_WhatVariesIsNoConstant(t *testing.T) {
	k := New[int]([]int{0, 1})
	forms := 0
	for step := range uint64(100) {
		args := argsOf(4096, step)
		if _, ok := k.Find(args); ok {
			continue
		}
		when, values := k.Plan(args, forms > 0)
		if when == Never {
			continue
		}
		forms++
		k.Add(values, forms)
	}
	require.Equal(t, 2, forms, "one of the first launch, one for the size that stays")
	made, ok := k.Find(argsOf(4096, 1000))
	require.True(t, ok)
	require.Equal(t, 2, made)
	made, _ = k.Find(argsOf(4096, 0))
	require.Equal(t, 1, made, "the one with more values goes first")
}

func TestPlan_EndsWhereAllVaries(t *testing.T) {
	k := New[int]([]int{0})
	for n := range uint64(1000) {
		k.Plan(argsOf(n), true)
	}
	require.True(t, k.ended.Load())
	require.Empty(t, k.All())
}

func TestPlan_MakesNoMoreThanItMay(t *testing.T) {
	k := New[int]([]int{0, 1, 2})
	forms := 0
	for n := range uint64(4000) {
		args := argsOf(n/repeated%4, n/repeated/4%4, n/repeated/16%4)
		if _, ok := k.Find(args); ok {
			continue
		}
		if when, values := k.Plan(args, true); when != Never {
			forms++
			k.Add(values, forms)
		}
	}
	require.Equal(t, most, forms)
	require.True(t, k.ended.Load())
	require.Nil(t, New[int](nil).All())
}

func TestKernel_ManyAtTheSameTime(t *testing.T) {
	k := New[uint64]([]int{0})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range uint64(2000) {
				args := argsOf(n % 3)
				if made, ok := k.Find(args); ok {
					if made != n%3 {
						panic("another form")
					}
					continue
				}
				if when, values := k.Plan(args, true); when != Never {
					k.Add(values, values[0].Bits)
				}
			}
		})
	}
	all.Wait()
	require.Len(t, k.All(), 3)
}

// Sizes that come in turn never get a form of their own, and are not looked at for ever.
func TestPlan_EndsWhereNothingComesAgainSoon(t *testing.T) {
	k := New[int]([]int{0, 1})
	for n := range uint64(watching + 1) {
		require.False(t, k.ended.Load())
		when, _ := k.Plan(argsOf(n%4, n/4%4), true)
		require.Equal(t, Never, when)
	}
	require.True(t, k.ended.Load())
}

package mach_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu/internal/amd64"
	"github.com/gompss/gompss/codegen/cpu/internal/neon"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// links encodes code for both processors.
var links = map[string]struct {
	registers func(divides bool) mach.RegisterFile
	link      func(*mach.Code) ([]byte, []mach.Line, []int, error)
}{
	"amd64": {func(divides bool) mach.RegisterFile { return amd64.Registers(false, divides, vcode.W256) },
		func(c *mach.Code) ([]byte, []mach.Line, []int, error) { return amd64.Link(c, false) }},
	"arm64": {neon.Registers, neon.Link},
}

// What is tidied and allocated can be encoded, with many registers and with one of each class.
func TestLink_WhatIsAllocated(t *testing.T) {
	for seed := range uint64(400) {
		for name, m := range links {
			c := mach.RandomCode(rand.New(rand.NewPCG(seed, 1)))
			if seed%2 == 1 {
				c.Tidy(vcode.W128)
			}
			f := m.registers(c.Divides())
			if seed%4 < 2 {
				f.KeepOne()
			}
			_, _, err := c.Allocate(f)
			require.NoError(t, err)
			_, _, _, err = m.link(&c)
			require.NoError(t, err, "seed %d %s\n%s", seed, name, c.String())
		}
	}
}

// The pool stands behind the code, from a multiple of 64 bytes on.
func TestLink_PutsThePoolBehind(t *testing.T) {
	for name, m := range links {
		c := mach.New(mach.TestLayout, 8)
		r := c.NewVector()
		c.Op(vcode.VStoreF32, vcode.W128, vcode.MemArg(vcode.At(vcode.Block, 64)), vcode.RegArg(r))
		c.LoadAtEntry(vcode.VBroadcastF32, vcode.W128, r, c.PoolWord(7, 4))
		c.Return()
		c.JoinEntry()
		_, _, err := c.Allocate(m.registers(false))
		require.NoError(t, err)
		code, lines, _, err := m.link(&c)
		require.NoError(t, err)
		require.Empty(t, lines)
		require.Equal(t, []byte{7, 0, 0, 0}, code[64:], "%s: %s", name, fmt.Sprintf("% x", code))
	}
}

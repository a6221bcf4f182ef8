package mach

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu/x86"
)

var testLayout = Layout{SpillAt: 1 << 12, MostSpill: 1 << 16, ResumeAt: 56}

func word(i int) x86.Arg { return x86.MemArg(x86.At(x86.DI, int32(8*i))) }

// words is how many words of the block random code reads and writes.
const words = 6

// randomCode is code of single numbers that moves, adds and compares, jumps forward, and at last
// stores all that it has computed.
func randomCode(r *rand.Rand) Code {
	c := New(testLayout, true, 64)
	var regs []x86.Reg
	for i := range words {
		v := c.NewGeneral()
		c.Op(x86.MOVQ, x86.W128, x86.RegArg(v), word(i))
		regs = append(regs, v)
	}
	any := func() x86.Reg { return regs[r.IntN(len(regs))] }
	var open []Label
	for range 20 + r.IntN(60) {
		d := any()
		switch r.IntN(10) {
		case 0:
			if len(open) == 0 { // set on every path
				d = c.NewGeneral()
				regs = append(regs, d)
			}
			c.Op(x86.MOVQImm, x86.W128, x86.RegArg(d), x86.ImmArg(int64(r.IntN(4))))
		case 1, 2:
			s := any()
			if len(open) == 0 {
				d = c.NewGeneral()
				regs = append(regs, d)
			}
			c.Op(x86.MOVQStore, x86.W128, x86.RegArg(d), x86.RegArg(s))
		case 3:
			c.Op(x86.MOVQ, x86.W128, x86.RegArg(d), word(r.IntN(words)))
		case 4:
			c.Op(x86.MOVQStore, x86.W128, word(r.IntN(words)), x86.RegArg(d))
		case 5:
			l := c.NewLabel()
			c.Op(x86.CMPQ, x86.W128, x86.RegArg(d), x86.RegArg(any()))
			c.Jump([]Cond{CondE, CondNE, CondL, CondGE, CondLE, CondG}[r.IntN(6)], l)
			open = append(open, l)
		case 6:
			if n := len(open); n > 0 {
				c.Place(open[n-1])
				open = open[:n-1]
			}
		default:
			op := []x86.Op{x86.ADDQ, x86.SUBQ, x86.IMULQ, x86.XORQ, x86.ANDQ}[r.IntN(5)]
			c.Op(op, x86.W128, x86.RegArg(d), x86.RegArg(any()))
		}
	}
	for _, l := range slices.Backward(open) {
		c.Place(l)
	}
	for i, v := range regs {
		c.Op(x86.MOVQStore, x86.W128, word(words+i), x86.RegArg(v))
	}
	c.Return()
	return c
}

// interpret runs the steps on general registers and the block, and returns the block below the
// spilled values.
func interpret(t *testing.T, c *Code) map[int32]int64 {
	regs, mem := map[x86.Reg]int64{}, map[int32]int64{}
	for i := range int32(words) {
		mem[8*i] = int64(i*i) - 7
	}
	get := func(a x86.Arg) int64 {
		switch a.Kind {
		case x86.ArgReg:
			return regs[a.Reg]
		case x86.ArgImm:
			return a.Imm
		}
		require.Equal(t, x86.DI, a.Mem.Base)
		return mem[a.Mem.Disp]
	}
	set := func(a x86.Arg, v int64) {
		if a.Kind == x86.ArgReg {
			regs[a.Reg] = v
			return
		}
		mem[a.Mem.Disp] = v
	}
	places := map[Label]int{}
	for i, s := range c.steps {
		if s.kind == StepLabel {
			places[s.label] = i
		}
	}
	var x, y int64
	for i := 0; i < len(c.steps); i++ {
		s := &c.steps[i]
		switch s.kind {
		case StepLabel:
		case StepJump:
			taken := map[Cond]bool{CondE: x == y, CondNE: x != y, CondL: x < y, CondGE: x >= y, CondLE: x <= y, CondG: x > y, Always: true}[s.cond]
			if taken {
				i = places[s.label]
			}
		case StepReturn:
			for at := range mem {
				if at >= int32(c.layout.SpillAt) {
					delete(mem, at)
				}
			}
			return mem
		default:
			a, b := s.Args[0], s.Args[1]
			switch s.Op {
			case x86.MOVQ, x86.MOVQStore, x86.MOVQImm:
				set(a, get(b))
			case x86.ADDQ:
				set(a, get(a)+get(b))
			case x86.SUBQ:
				set(a, get(a)-get(b))
			case x86.IMULQ:
				set(a, get(a)*get(b))
			case x86.XORQ:
				set(a, get(a)^get(b))
			case x86.ANDQ:
				set(a, get(a)&get(b))
			case x86.CMPQ, x86.CMPQImm:
				x, y = get(a), get(b)
			default:
				t.Fatalf("no meaning: %s", s.Inst)
			}
		}
	}
	t.Fatal("the code does not return")
	return nil
}

// Whatever is tidied and allocated computes what the code over virtual registers computes, with
// many registers and with one of each class.
func TestAllocate_ComputesTheSame(t *testing.T) {
	for seed := range uint64(400) {
		want := randomCode(rand.New(rand.NewPCG(seed, 1)))
		wanted := interpret(t, &want)
		for _, few := range []bool{false, true} {
			for _, tidy := range []bool{false, true} {
				c := randomCode(rand.New(rand.NewPCG(seed, 1)))
				if tidy {
					c.Tidy(x86.W256)
				}
				f := Registers(false, c.Divides(), x86.W256)
				if few {
					f.KeepOne()
				}
				_, _, err := c.Allocate(f)
				require.NoError(t, err)
				for i := range c.steps {
					c.steps[i].visit(func(r *x86.Reg, _, _ bool) {
						require.False(t, r.IsVirtual(), "seed %d", seed)
					})
				}
				require.Equal(t, wanted, interpret(t, &c), "seed %d few %v tidy %v\n%s\nbecame\n%s", seed, few, tidy, want.String(), c.String())
				_, _, _, err = c.Link()
				require.NoError(t, err)
			}
		}
	}
}

func TestTidy_LoadsOnce(t *testing.T) {
	c := New(testLayout, true, 8)
	a, b, sum := c.NewGeneral(), c.NewGeneral(), c.NewGeneral()
	c.Op(x86.MOVQ, x86.W128, x86.RegArg(a), word(1))
	c.Op(x86.MOVQ, x86.W128, x86.RegArg(b), word(1))
	c.Op(x86.LEAQ, x86.W128, x86.RegArg(sum), x86.MemArg(x86.Mem{Base: a, Index: b, Scale: 1}))
	c.Op(x86.MOVQStore, x86.W128, word(2), x86.RegArg(sum))
	c.Return()
	c.Tidy(x86.W256)
	require.Equal(t, 1, strings.Count(c.String(), "8(DI)"), c.String())
}

func TestAllocate_RefusesMoreThanTheBlockHolds(t *testing.T) {
	l := testLayout
	l.MostSpill = 64
	c := New(l, true, 64)
	var regs []x86.Reg
	for i := range 40 {
		v := c.NewGeneral()
		c.Op(x86.MOVQ, x86.W128, x86.RegArg(v), word(i))
		regs = append(regs, v)
	}
	for i, v := range regs {
		c.Op(x86.MOVQStore, x86.W128, word(i), x86.RegArg(v))
	}
	_, _, err := c.Allocate(Registers(false, false, x86.W256))
	require.ErrorContains(t, err, "64 at most")
}

// The entry runs before everything, and what is seldom run has its place behind it.
func TestJoinEntry_PutsConstantsInFront(t *testing.T) {
	c := New(testLayout, true, 8)
	r := c.NewVector()
	c.Op(x86.VMOVUPSStore, x86.W256, word(8), x86.RegArg(r))
	c.LoadAtEntry(x86.VBROADCASTSS, x86.W256, r, c.PoolWord(7, 4))
	c.Return()
	c.SeldomFromHere()
	require.Equal(t, 2, c.JoinEntry())
	require.Equal(t, 3, c.cold)
	require.True(t, strings.HasPrefix(c.String(), "\tVBROADCASTSS"), c.String())
	_, _, err := c.Allocate(Registers(false, false, x86.W256))
	require.NoError(t, err)
	code, lines, _, err := c.Link()
	require.NoError(t, err)
	require.Empty(t, lines)
	require.Equal(t, []byte{7, 0, 0, 0}, code[64:], fmt.Sprintf("% x", code))
}

package mach

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu/vcode"
)

var testLayout = Layout{SpillAt: 1 << 12, MostSpill: 1 << 16, ResumeAt: 56}

func word(i int) vcode.Arg { return vcode.MemArg(vcode.At(vcode.Block, int32(8*i))) }

// testRegisters are a few of each class.
func testRegisters() (f RegisterFile) {
	f.Width = vcode.W256
	for i, r := range []int{3, 6, 8, 9, 10, 11, 12, 13} {
		f.Free[General], f.Free[Vector] = append(f.Free[General], vcode.R(r)), append(f.Free[Vector], vcode.V(i))
	}
	f.Scratch[General] = []vcode.Reg{vcode.R(14), vcode.R(15), vcode.Acc}
	f.Scratch[Vector] = []vcode.Reg{vcode.V(12), vcode.V(13), vcode.V(14), vcode.V(15)}
	f.Free[Mask], f.Scratch[Mask] = []vcode.Reg{vcode.K(1)}, []vcode.Reg{vcode.K(5), vcode.K(6), vcode.K(7)}
	return f
}

// words is how many words of the block random code reads and writes.
const words = 6

// randomCode is code of single numbers that moves, adds and compares, jumps forward, and at last
// stores all that it has computed.
func randomCode(r *rand.Rand) Code {
	c := New(testLayout, 64)
	var regs []vcode.Reg
	for i := range words {
		v := c.NewGeneral()
		c.Op(vcode.Load64, vcode.W128, vcode.RegArg(v), word(i))
		regs = append(regs, v)
	}
	any := func() vcode.Reg { return regs[r.IntN(len(regs))] }
	var open []Label
	for range 20 + r.IntN(60) {
		d := any()
		switch r.IntN(10) {
		case 0:
			if len(open) == 0 { // set on every path
				d = c.NewGeneral()
				regs = append(regs, d)
			}
			c.Op(vcode.SetImm, vcode.W128, vcode.RegArg(d), vcode.ImmArg(int64(r.IntN(4))))
		case 1, 2:
			s := any()
			if len(open) == 0 {
				d = c.NewGeneral()
				regs = append(regs, d)
			}
			c.Op(vcode.Store64, vcode.W128, vcode.RegArg(d), vcode.RegArg(s))
		case 3:
			c.Op(vcode.Load64, vcode.W128, vcode.RegArg(d), word(r.IntN(words)))
		case 4:
			c.Op(vcode.Store64, vcode.W128, word(r.IntN(words)), vcode.RegArg(d))
		case 5:
			l := c.NewLabel()
			c.Op(vcode.Compare, vcode.W128, vcode.RegArg(d), vcode.RegArg(any()))
			c.Jump([]Cond{CondE, CondNE, CondL, CondGE, CondLE, CondG}[r.IntN(6)], l)
			open = append(open, l)
		case 6:
			if n := len(open); n > 0 {
				c.Place(open[n-1])
				open = open[:n-1]
			}
		default:
			op := []vcode.Op{vcode.Add, vcode.Sub, vcode.Mul, vcode.Xor, vcode.And}[r.IntN(5)]
			c.Op(op, vcode.W128, vcode.RegArg(d), vcode.RegArg(any()))
		}
	}
	for _, l := range slices.Backward(open) {
		c.Place(l)
	}
	for i, v := range regs {
		c.Op(vcode.Store64, vcode.W128, word(words+i), vcode.RegArg(v))
	}
	c.Return()
	return c
}

// interpret runs the steps on general registers and the block, and returns the block below the
// spilled values.
func interpret(t *testing.T, c *Code) map[int32]int64 {
	regs, mem := map[vcode.Reg]int64{}, map[int32]int64{}
	for i := range int32(words) {
		mem[8*i] = int64(i*i) - 7
	}
	get := func(a vcode.Arg) int64 {
		switch a.Kind {
		case vcode.ArgReg:
			return regs[a.Reg]
		case vcode.ArgImm:
			return a.Imm
		}
		require.Equal(t, vcode.Block, a.Mem.Base)
		return mem[a.Mem.Disp]
	}
	set := func(a vcode.Arg, v int64) {
		if a.Kind == vcode.ArgReg {
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
			case vcode.Load64, vcode.Store64, vcode.SetImm:
				set(a, get(b))
			case vcode.Add:
				set(a, get(a)+get(b))
			case vcode.Sub:
				set(a, get(a)-get(b))
			case vcode.Mul:
				set(a, get(a)*get(b))
			case vcode.Xor:
				set(a, get(a)^get(b))
			case vcode.And:
				set(a, get(a)&get(b))
			case vcode.Compare, vcode.CompareImm:
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
					c.Tidy(vcode.W256)
				}
				f := testRegisters()
				if few {
					f.KeepOne()
				}
				_, _, err := c.Allocate(f)
				require.NoError(t, err)
				for i := range c.steps {
					c.steps[i].visit(func(r *vcode.Reg, _, _ bool) {
						require.False(t, r.IsVirtual(), "seed %d", seed)
					})
				}
				require.Equal(t, wanted, interpret(t, &c), "seed %d few %v tidy %v\n%s\nbecame\n%s", seed, few, tidy, want.String(), c.String())
			}
		}
	}
}

func TestTidy_LoadsOnce(t *testing.T) {
	c := New(testLayout, 8)
	a, b, sum := c.NewGeneral(), c.NewGeneral(), c.NewGeneral()
	c.Op(vcode.Load64, vcode.W128, vcode.RegArg(a), word(1))
	c.Op(vcode.Load64, vcode.W128, vcode.RegArg(b), word(1))
	c.Op(vcode.Address, vcode.W128, vcode.RegArg(sum), vcode.MemArg(vcode.Mem{Base: a, Index: b, Scale: 1}))
	c.Op(vcode.Store64, vcode.W128, word(2), vcode.RegArg(sum))
	c.Return()
	c.Tidy(vcode.W256)
	require.Equal(t, 1, strings.Count(c.String(), "8(block)"), c.String())
}

func TestAllocate_RefusesMoreThanTheBlockHolds(t *testing.T) {
	l := testLayout
	l.MostSpill = 64
	c := New(l, 64)
	var regs []vcode.Reg
	for i := range 40 {
		v := c.NewGeneral()
		c.Op(vcode.Load64, vcode.W128, vcode.RegArg(v), word(i))
		regs = append(regs, v)
	}
	for i, v := range regs {
		c.Op(vcode.Store64, vcode.W128, word(i), vcode.RegArg(v))
	}
	_, _, err := c.Allocate(testRegisters())
	require.ErrorContains(t, err, "64 at most")
}

// The entry runs before everything, and what is seldom run has its place behind it.
func TestJoinEntry_PutsConstantsInFront(t *testing.T) {
	c := New(testLayout, 8)
	r := c.NewVector()
	c.Op(vcode.VStoreF32, vcode.W256, word(8), vcode.RegArg(r))
	c.LoadAtEntry(vcode.VBroadcastF32, vcode.W256, r, c.PoolWord(7, 4))
	c.Return()
	c.SeldomFromHere()
	require.Equal(t, 2, c.JoinEntry())
	require.Equal(t, 3, c.cold)
	require.True(t, strings.HasPrefix(c.String(), "\tVBroadcastF32"), c.String())
	_, _, err := c.Allocate(testRegisters())
	require.NoError(t, err)
	require.Equal(t, []byte{7, 0, 0, 0}, c.Pool())
}

// TestCode_RegistersEnd: a virtual register has a number of its own, or there is none.
func TestCode_RegistersEnd(t *testing.T) {
	c := New(Layout{}, 0)
	last := c.NewGeneral()
	require.PanicsWithValue(t, ErrRegisters, func() {
		for {
			r := c.NewVector()
			require.Equal(t, last+1, r)
			require.True(t, r.IsVirtual())
			last = r
		}
	})
	require.Equal(t, vcode.NoReg-1, last)
}

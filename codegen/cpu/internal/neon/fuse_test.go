package neon

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// listing is the code of what emit adds, a line an instruction.
func listing(t *testing.T, emit func(c *mach.Code)) string {
	c := mach.New(mach.Layout{SpillAt: 1 << 12, MostSpill: 1 << 16, ResumeAt: 56}, 8)
	c.Listing = true
	emit(&c)
	code, lines, _, err := Link(&c)
	require.NoError(t, err)
	require.NotEmpty(t, code)
	var texts []string
	for _, l := range lines {
		texts = append(texts, strings.TrimSpace(l.Text))
	}
	return strings.Join(texts, "; ")
}

func word(base vcode.Reg, i int) vcode.Arg { return vcode.MemArg(vcode.At(base, int32(8*i))) }

func reg(i int) vcode.Arg { return vcode.RegArg(vcode.R(i)) }

func TestLink_JoinsNeighbours(t *testing.T) {
	load := func(c *mach.Code, d int, base vcode.Reg, i int) {
		c.Op(vcode.Load64, vcode.W128, reg(d), word(base, i))
	}
	vector := func(c *mach.Code, op vcode.Op, v int, i int) {
		m := vcode.MemArg(vcode.At(vcode.R(8), int32(16*i)))
		if op == vcode.VStoreF32 {
			c.Op(op, vcode.W128, m, vcode.RegArg(vcode.V(v)))
			return
		}
		c.Op(op, vcode.W128, vcode.RegArg(vcode.V(v)), m)
	}
	for want, emit := range map[string]func(c *mach.Code){
		"ldp x8, x9, [x0, #8]":                 func(c *mach.Code) { load(c, 8, vcode.Block, 1); load(c, 9, vcode.Block, 2) },
		"ldp x9, x8, [x0, #16]":                func(c *mach.Code) { load(c, 8, vcode.Block, 3); load(c, 9, vcode.Block, 2) },
		"ldr x8, [x0, #8]; ldr x8, [x0, #16]":  func(c *mach.Code) { load(c, 8, vcode.Block, 1); load(c, 8, vcode.Block, 2) },
		"ldr x8, [x8]; ldr x9, [x8, #8]":       func(c *mach.Code) { load(c, 8, vcode.R(8), 0); load(c, 9, vcode.R(8), 1) },
		"ldr x8, [x0, #8]; ldr x10, [x0, #24]": func(c *mach.Code) { load(c, 8, vcode.Block, 1); load(c, 10, vcode.Block, 3) },
		"ldp q1, q2, [x8]; stp q1, q2, [x8, #32]": func(c *mach.Code) {
			vector(c, vcode.VLoadF32, 1, 0)
			vector(c, vcode.VLoadF32, 2, 1)
			vector(c, vcode.VStoreF32, 1, 2)
			vector(c, vcode.VStoreF32, 2, 3)
		},
		"ldr q1, [x8]; str q1, [x8, #32]; ldr q2, [x8, #16]": func(c *mach.Code) { // the store may be to there
			vector(c, vcode.VLoadF32, 1, 0)
			vector(c, vcode.VStoreF32, 1, 2)
			vector(c, vcode.VLoadF32, 2, 1)
		},
		"ldr q1, [x8]; fadd v3.4s, v1.4s, v2.4s; ldr q2, [x8, #16]": func(c *mach.Code) { // the sum reads v2
			vector(c, vcode.VLoadF32, 1, 0)
			c.Op(vcode.VAddF32, vcode.W128, vcode.RegArg(vcode.V(3)), vcode.RegArg(vcode.V(1)), vcode.RegArg(vcode.V(2)))
			vector(c, vcode.VLoadF32, 2, 1)
		},
		"ldp q1, q2, [x8]; fadd v3.4s, v1.4s, v4.4s": func(c *mach.Code) {
			vector(c, vcode.VLoadF32, 1, 0)
			c.Op(vcode.VAddF32, vcode.W128, vcode.RegArg(vcode.V(3)), vcode.RegArg(vcode.V(1)), vcode.RegArg(vcode.V(4)))
			vector(c, vcode.VLoadF32, 2, 1)
		},
		"ldr q1, [x8]; adds x8, x8, #16; ldr q2, [x8, #16]": func(c *mach.Code) { // of another address
			vector(c, vcode.VLoadF32, 1, 0)
			c.Op(vcode.AddImm, vcode.W128, reg(8), vcode.ImmArg(16))
			vector(c, vcode.VLoadF32, 2, 1)
		},
		"ldr q1, [x8]; L0:; ldr q2, [x8, #16]": func(c *mach.Code) {
			vector(c, vcode.VLoadF32, 1, 0)
			c.Place(c.NewLabel())
			vector(c, vcode.VLoadF32, 2, 1)
		},
	} {
		require.Equal(t, want, listing(t, emit))
	}
}

func TestLink_FusesACopyWithWhatOverwritesIt(t *testing.T) {
	copied := func(op vcode.Op, second vcode.Arg) func(c *mach.Code) {
		return func(c *mach.Code) {
			c.Op(vcode.Store64, vcode.W128, reg(8), reg(9))
			c.Op(op, vcode.W128, reg(8), second)
		}
	}
	for want, emit := range map[string]func(c *mach.Code){
		"adds x8, x9, #1":                                      copied(vcode.AddImm, vcode.ImmArg(1)),
		"subs x8, x9, x10":                                     copied(vcode.Sub, reg(10)),
		"ubfm x8, x9, #3, #63":                                 copied(vcode.ShiftRightImm, vcode.ImmArg(3)),
		"orr x8, xzr, x9; adds x8, x8, x8":                     copied(vcode.Add, reg(8)),
		"orr x8, xzr, x9; subs xzr, x8, x10":                   copied(vcode.Compare, reg(10)),
		"orr x8, xzr, x9; ldr x26, [x8, #8]; adds x8, x8, x26": copied(vcode.Add, word(vcode.R(8), 1)),
	} {
		require.Equal(t, want, listing(t, emit))
	}
}

func TestLink_BranchesWhereARegisterIsZero(t *testing.T) {
	branch := func(k mach.Cond, there func(c *mach.Code)) func(c *mach.Code) {
		return func(c *mach.Code) {
			l := c.NewLabel()
			c.Op(vcode.Test, vcode.W128, reg(8), reg(8))
			c.Jump(k, l)
			c.Return()
			c.Place(l)
			there(c)
			c.Return()
		}
	}
	none := func(*mach.Code) {}
	require.Equal(t, "cbz x8, .+0 -> L0; ret x30; L0:; ret x30", listing(t, branch(mach.CondE, none)))
	require.Equal(t, "cbnz x8, .+0 -> L0; ret x30; L0:; ret x30", listing(t, branch(mach.CondNE, none)))
	require.Equal(t, "ands xzr, x8, x8; b.le .+0 -> L0; ret x30; L0:; ret x30", listing(t, branch(mach.CondLE, none)))
	require.Equal(t, "ands xzr, x8, x8; b.eq .+0 -> L0; L0:; csel x9, x10, x9, lt; ret x30", listing(t, func(c *mach.Code) {
		l := c.NewLabel()
		c.Op(vcode.Test, vcode.W128, reg(8), reg(8))
		c.Jump(mach.CondE, l)
		c.Place(l)
		c.Op(vcode.MoveLess, vcode.W128, reg(9), reg(10)) // looks at the flags
		c.Return()
	}))
}

package amd64

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/cpu/x86"
)

func TestForms_EveryOperationHasOneOfItsOwn(t *testing.T) {
	of := map[x86.Op]vcode.Op{}
	for op := vcode.NoOp + 1; op < vcode.NumOps; op++ {
		if op == vcode.VInverseSqrtF32 || op >= vcode.VLeastF32 && op <= vcode.VGreatestF64 { // of arm64 alone
			continue
		}
		require.NotEqual(t, x86.NoOp, forms[op], "%s", vcode.I(op, vcode.W128))
		require.NotContains(t, of, forms[op])
		of[forms[op]] = op
	}
}

// Registers, widths and kinds of operands have the numbers that translate relies on.
func TestTranslate_KeepsNumbers(t *testing.T) {
	require.Equal(t, [...]x86.Reg{x86.AX, x86.CX, x86.DX, x86.DI, x86.V0, x86.K0, x86.RIP, x86.NoReg},
		[...]x86.Reg{x86.Reg(vcode.Acc), x86.Reg(vcode.Count), x86.Reg(vcode.High), x86.Reg(vcode.Block), x86.Reg(vcode.V0), x86.Reg(vcode.K0), x86.Reg(vcode.PoolBase), x86.Reg(vcode.NoReg)})
	require.Equal(t, [...]x86.ArgKind{x86.ArgReg, x86.ArgMem, x86.ArgImm}, [...]x86.ArgKind{x86.ArgKind(vcode.ArgReg), x86.ArgKind(vcode.ArgMem), x86.ArgKind(vcode.ArgImm)})
	require.Equal(t, x86.W512, x86.Width(vcode.W512))
	in := vcode.I(vcode.VAddF32, vcode.W512, vcode.RegArg(vcode.V(1)), vcode.RegArg(vcode.V(2)), vcode.MemArg(vcode.Indexed(vcode.Block, vcode.R(3), 4, 8))).Masked(vcode.K(2), true)
	require.Equal(t, "VADDPS.Z 8(DI)(BX*4), Z2, K2, Z1", translate(&in).String())
}

// What operations do to flags and to their first operand is what their instructions do.
func TestForms_ComparisonsOfVectorsWriteMasks(t *testing.T) {
	for op := vcode.NoOp + 1; op < vcode.NumOps; op++ {
		f := &x86.Forms[forms[op]]
		in := vcode.I(op, vcode.W512, vcode.RegArg(vcode.K(1)), vcode.RegArg(vcode.V(1)), vcode.RegArg(vcode.V(2))).Masked(vcode.K(3), false)
		require.Equal(t, f.Flags&x86.VSIB != 0, in.ClearsMask(), f.Name)
		if f.Flags&x86.ToMask != 0 {
			require.Equal(t, vcode.Writes, in.FirstUse(), f.Name)
		}
	}
}

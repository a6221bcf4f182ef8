package arm64

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// immediates are values that fields of some form take, or just do not.
func immediates(r *rand.Rand) int64 {
	run := uint64(1)<<(1+r.IntN(63)) - 1
	turned := run<<r.IntN(64) | run>>r.IntN(64)
	half := uint64(uint32(run) >> (1 + r.IntN(31)))
	return []int64{0, 1, 2, 3, 4, 7, 8, 12, 15, 16, 24, 31, 32, 48, 63, 64, 255, 256, 4095, 4096, 65535, -1, -4, -256, -257,
		int64(r.IntN(64)), int64(r.IntN(4096)), int64(r.IntN(1 << 16)), int64(r.IntN(4096)) * 16, int64(r.IntN(1<<19)) * 4, -int64(r.IntN(1<<19)) * 4,
		-int64(r.IntN(256)), int64(r.IntN(64)-32) * 16, int64(r.IntN(64)-32) * 8, int64(turned), int64(half), int64(half<<32 | half),
		int64(0x5555555555555555 << r.IntN(2)), int64(0x00ff00ff00ff00ff << r.IntN(8)), 1<<20 - 1, -1 << 20, 1<<27 - 4, -1 << 27}[r.IntN(43)]
}

// examples are instructions of one form that have an encoding: all numbers of registers, and what fits the fields.
func examples(r *rand.Rand, op Op, t Arrangement, n int) []Inst {
	var out []Inst
	for tries := 0; len(out) < n && tries < 400*n; tries++ {
		k := Reg(len(out))
		i := Inst{Op: op, T: t, D: (k + 1) % 32, N: (k*7 + 3) % 32, M: (k*11 + 5) % 32, A: (k*13 + 8) % 32, Imm: immediates(r), Imm2: immediates(r), Cond: Cond(r.IntN(15))}
		if len(out) >= 32 {
			i.D, i.N, i.M, i.A = Reg(r.IntN(32)), Reg(r.IntN(32)), Reg(r.IntN(32)), Reg(r.IntN(32))
		}
		if i.D == i.A || i.D == i.M || i.M == i.N { // of some forms the result is not predictable
			i.A, i.M, i.N = (i.D+1)%32, (i.D+2)%32, (i.D+3)%32
		}
		if _, err := Encode(i); err == nil {
			out = append(out, i)
		}
	}
	return out
}

// TestEncode_EveryFormIsThatOfGNU assembles every form with GNU as: all register numbers, and immediates at the ends of
// their fields and between.
func TestEncode_EveryFormIsThatOfGNU(t *testing.T) {
	as, err := exec.LookPath("aarch64-linux-gnu-as")
	if err != nil {
		t.Skip("no aarch64-linux-gnu-as: Debian's binutils-aarch64-linux-gnu has it")
	}
	r := rand.New(rand.NewPCG(1, 2))
	var list []Inst
	for op := range forms {
		arrangements := forms[op].arr
		if arrangements == nil {
			arrangements = []Arrangement{NoArrangement}
		}
		for _, a := range arrangements {
			some := examples(r, Op(op), a, 40)
			require.NotEmpty(t, some, "%s %s has no example", Op(op), a)
			list = append(list, some...)
		}
	}
	dir := t.TempDir()
	source, object, binaryFile := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.o"), filepath.Join(dir, "a.bin")
	var b strings.Builder
	b.WriteString("\t.arch armv8.2-a\n")
	for _, i := range list {
		fmt.Fprintf(&b, "\t%s\n", i.Text())
	}
	require.NoError(t, os.WriteFile(source, []byte(b.String()), 0o644))
	said, err := exec.Command(as, "-o", object, source).CombinedOutput()
	require.NoError(t, err, "%.3000s", said)
	said, err = exec.Command(strings.TrimSuffix(as, "as")+"objcopy", "-O", "binary", "-j", ".text", object, binaryFile).CombinedOutput()
	require.NoError(t, err, "%s", said)
	words, err := os.ReadFile(binaryFile)
	require.NoError(t, err)
	require.Len(t, words, 4*len(list))
	bad := 0
	for k, i := range list {
		got, err := Encode(i)
		require.NoError(t, err)
		if want := binary.LittleEndian.Uint32(words[4*k:]); got != want && bad < 40 {
			bad++
			t.Errorf("%s: %08x, GNU as says %08x", i.Text(), got, want)
		}
	}
	t.Logf("%d forms, %d instructions", len(forms), len(list))
}

func TestEncode_RefusesWhatDoesNotFit(t *testing.T) {
	for _, c := range []struct {
		i   Inst
		why string
	}{
		{Inst{Op: ADDI, Imm: 4096}, "4096"}, {Inst{Op: ANDI, Imm: 0}, "run of ones"}, {Inst{Op: ANDI, Imm: -1}, "run of ones"},
		{Inst{Op: ANDI, Imm: 5}, "run of ones"}, {Inst{Op: LDR, Imm: 4}, "multiple of 8"}, {Inst{Op: B, Imm: 1 << 27}, "want a multiple"},
		{Inst{Op: VSHL, T: S4, Imm: 32}, "shift"}, {Inst{Op: VMUL, T: D2}, "arrangement"}, {Inst{Op: VDUPE, T: S4, Imm: 4}, "lane"},
		{Inst{Op: MOVZW, Imm2: 32}, "shift"}, {Inst{Op: Op(len(forms))}, "unknown"}, {Inst{Op: ADD, D: 32}, "register 32"}, {Inst{Op: BCOND, Cond: AL + 1}, "condition"},
	} {
		_, err := Encode(c.i)
		require.ErrorContains(t, err, c.why, c.i.Op.String())
		var e *Error
		require.ErrorAs(t, err, &e)
	}
}

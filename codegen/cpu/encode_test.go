package cpu

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryFormAgainstTheGoAssembler encodes every row of the table with many operands and compares the bytes with
// those of `go tool asm`.
func TestEveryFormAgainstTheGoAssembler(t *testing.T) {
	insts := allInstances(rand.New(rand.NewPCG(1, 2)))
	want := goAssemble(t, insts)
	bad := 0
	for i, in := range insts {
		got, err := Append(nil, in)
		require.NoError(t, err, in.String())
		if hex.EncodeToString(got) != want[i] {
			t.Errorf("%-50s got %x, want %s", in, got, want[i])
			if bad++; bad > 40 {
				t.Fatal("too many")
			}
		}
	}
	t.Logf("%d instructions of %d forms", len(insts), numForms-1)
}

func allInstances(r *rand.Rand) []Inst {
	var out []Inst
	for op := NoOp + 1; op < numForms; op++ {
		for range 12 {
			if in, ok := randomInst(r, op); ok {
				out = append(out, in)
			}
		}
	}
	return out
}

// wide128 lists forms without a 128-bit vector length.
// generalImm picks an immediate for which the Go assembler takes the same encoding as this form.
func generalImm(r *rand.Rand, f *form) int64 {
	switch {
	case strings.HasPrefix(f.name, "S") && f.op == 0xC1:
		return int64(2 + r.IntN(60))
	case f.elem == 1:
		return int64(r.IntN(256) - 128)
	}
	return int64(1000 + r.IntN(1<<30))
}

func minWidth(f *form) Width {
	switch {
	case strings.HasPrefix(f.name, "VPERMPS"), strings.HasPrefix(f.name, "VPERMD"), strings.HasPrefix(f.name, "VPERMPD"),
		strings.HasPrefix(f.name, "VPERMQ"), f.name == "VBROADCASTSD", f.flags&fLen256 != 0 && f.flags&fEVEX != 0:
		return W256
	}
	return W128
}

func maxWidth(f *form) Width {
	if f.flags&fEVEX == 0 {
		return W256
	}
	return W512
}

func randomInst(r *rand.Rand, op Op) (Inst, bool) {
	f := &forms[op]
	lo, hi := minWidth(f), maxWidth(f)
	if f.flags&fLen256 != 0 && f.flags&fEVEX == 0 {
		lo = W256
	}
	if strings.Contains(f.name, "64X4") {
		lo = W512
	}
	if f.flags&fNoLen != 0 {
		lo, hi = W128, W128
	}
	in := Inst{Op: op, Width: lo + Width(r.IntN(int(hi-lo)+1)), Mask: NoReg}
	// The Go assembler takes mask registers as an operand of blends and moves; both encodings of compares exist.
	toMask := f.flags&fToMask != 0 && (f.flags&fVEX == 0 || r.IntN(2) == 0 || in.Width == W512)
	evexOnly := f.flags&fVEX == 0
	high := 16
	if f.flags&fEVEX != 0 && (evexOnly || toMask) {
		high = 32
	}
	vsib := f.flags&fVSIB != 0
	memory := memorySlot(f)
	for i := range f.widths {
		in.Args[i] = randomArg(r, f, i, high, toMask)
	}
	if memory >= 0 && (vsib || mustBeMemory(f) || r.IntN(2) == 0 && mayBeMemory(f)) {
		in.Args[memory] = MemArg(randomMem(r, f, vsib, high))
	}
	if n := len(f.widths); f.layout == lRVMI || f.layout == lRMI || f.layout == lMRI || f.layout == lVMI {
		in.Args[n] = ImmArg(int64(r.IntN(8)))
		if f.elem == 4 && f.flags&fLegacy != 0 {
			in.Args[n] = ImmArg(generalImm(r, f))
		}
	}
	if f.layout == lMI {
		in.Args[1] = ImmArg(generalImm(r, f))
		if in.Args[0].kind == argReg && in.Args[0].reg == AX { // Go has a shorter form for AX alone
			in.Args[0].reg = R8
		}
	}
	if vsib && f.flags&fEVEX != 0 {
		in.Mask = K(1 + r.IntN(7))
	} else if maskable(f, in, evexOnly) && r.IntN(3) == 0 {
		in.Mask = K(1 + r.IntN(7))
		in.Zero = r.IntN(2) == 0 && !toMask && in.Args[0].kind != argMem
	}
	if strings.HasPrefix(f.name, "VBLENDM") || strings.HasPrefix(f.name, "VPBLENDM") {
		in.Mask = K(1 + r.IntN(7))
	}
	return distinct(f, in)
}

// distinct drops gathers whose registers clash: they are undefined.
func distinct(f *form, in Inst) (Inst, bool) {
	if f.flags&fVSIB == 0 {
		return in, true
	}
	seen := map[Reg]bool{}
	for _, a := range in.Args {
		rg := NoReg
		if a.kind == argReg {
			rg = a.reg
		} else if a.kind == argMem {
			rg = a.mem.Index
		}
		if rg != NoReg && seen[rg] {
			return in, false
		}
		seen[rg] = true
	}
	return in, true
}

func maskable(f *form, in Inst, evexOnly bool) bool {
	if f.flags&fEVEX == 0 || f.flags&fToMask != 0 && !in.Args[0].reg.isMask() ||
		in.Args[0].kind == argReg && !in.Args[0].reg.isVector() && !in.Args[0].reg.isMask() {
		return false
	}
	if strings.HasPrefix(f.name, "VPMOV") && strings.Contains(f.name, "2") || strings.HasPrefix(f.name, "VMOVNT") ||
		f.name == "VMOVD" || f.name == "VMOVQ" || f.name == "VPSADBW" || f.widths == "xxg" || f.widths == "gv" {
		return false
	}
	return in.Args[0].kind != argMem || f.layout == lMR || f.layout == lMRI
}

func memorySlot(f *form) int {
	switch f.layout {
	case lRVM, lRVMI, lRVMX:
		return 2
	case lRM, lRMI, lVMI, lRMV:
		return 1
	}
	return 0
}

// mustBeMemory: between registers the Go assembler always takes the store form of a move, and the other form of a sum.
func mustBeMemory(f *form) bool {
	move := strings.HasPrefix(f.name, "VMOV") && !strings.Contains(f.widths, "g")
	if f.flags&fLegacy != 0 {
		return f.layout == lMR || f.op == 0x8D || f.op == 0x18 || f.op == 0xC7 ||
			f.name == "MOVL" || f.name == "MOVQ" && f.layout == lRM
	}
	return f.layout == lMVR || strings.HasPrefix(f.name, "VMASKMOV") || strings.HasPrefix(f.name, "VPMASKMOV") ||
		strings.HasPrefix(f.name, "VMOVNT") || f.name == "VMOVSS" || f.name == "VMOVSD" || move && f.layout == lRM
}

func mayBeMemory(f *form) bool {
	if strings.HasPrefix(f.name, "K") || strings.Contains(f.widths, "m") && f.flags&fToMask == 0 ||
		f.name == "VMOVMSKPS" || f.name == "VMOVMSKPD" || f.layout == lVMI && f.flags&fEVEX != 0 ||
		strings.HasPrefix(f.name, "VPBROADCAST") && strings.Contains(f.widths, "g") {
		return false
	}
	return true
}

func randomArg(r *rand.Rand, f *form, i, high int, toMask bool) Arg {
	switch f.widths[i] {
	case 'g', 'b':
		return RegArg(randomGeneral(r))
	case 'm':
		if f.flags&fToMask != 0 && !toMask {
			return RegArg(V(r.IntN(16)))
		}
		return RegArg(K(r.IntN(8)))
	}
	return RegArg(V(r.IntN(high)))
}

func randomGeneral(r *rand.Rand) Reg {
	return []Reg{AX, CX, DX, BX, BP, SI, DI, R8, R(9), R(10), R(11), R(12), R(13), R(15)}[r.IntN(14)]
}

func randomMem(r *rand.Rand, f *form, vsib bool, high int) Mem {
	m := Mem{Base: randomGeneral(r), Index: NoReg, Scale: 1}
	m.Disp = []int32{0, 4, 8, 32, 64, 128, -64, 127, -256, 1000, 1 << 20}[r.IntN(11)]
	switch {
	case vsib:
		m.Index, m.Scale = V(r.IntN(high)), 1<<r.IntN(4)
	case r.IntN(2) == 0:
		m.Index, m.Scale = randomGeneral(r), 1<<r.IntN(4)
	}
	m.Broadcast = !vsib && f.flags&fEVEX != 0 && f.flags&fVEX == 0 && (f.tuple == tFull || f.tuple == tHalf) && r.IntN(3) == 0
	return m
}

// goAssemble returns the bytes, in hex, that the Go assembler makes of each instruction.
func goAssemble(t *testing.T, insts []Inst) []string {
	t.Helper()
	dir := t.TempDir()
	var src strings.Builder
	src.WriteString("TEXT ·f(SB), 4, $0-0\n")
	for _, in := range insts {
		fmt.Fprintf(&src, "\t%s\n", in)
	}
	src.WriteString("\tRET\n")
	file := filepath.Join(dir, "a.s")
	require.NoError(t, os.WriteFile(file, []byte(src.String()), 0o600))
	cmd := exec.Command("go", "tool", "asm", "-S", "-p", "x", "-e", "-o", filepath.Join(dir, "a.o"), file)
	cmd.Env = append(os.Environ(), "GOARCH=amd64", "GOOS=linux")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.6000s", err, out)
	}
	return splitListing(t, string(out), len(insts))
}

func splitListing(t *testing.T, listing string, n int) []string {
	t.Helper()
	starts := map[int]int{} // source line -> offset
	var dump strings.Builder
	s := bufio.NewScanner(strings.NewReader(listing))
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		if !strings.HasPrefix(line, "0x") {
			continue
		}
		if at := strings.Index(line, "a.s:"); at >= 0 {
			if strings.Contains(line, "\tTEXT\t") || strings.Contains(line, "FUNCDATA") {
				continue
			}
			end := strings.Index(line[at:], ")")
			ln, _ := strconv.Atoi(line[at+4 : at+end])
			off, _ := strconv.Atoi(strings.Fields(line)[1])
			starts[ln] = off
			continue
		}
		_, hexadecimal, _ := strings.Cut(line, " ")
		dump.WriteString(strings.ReplaceAll(hexadecimal[:min(48, len(hexadecimal))], " ", ""))
	}
	bytes := dump.String()
	out := make([]string, n)
	for i := range n {
		out[i] = bytes[2*starts[i+2] : 2*starts[i+3]]
	}
	return out
}

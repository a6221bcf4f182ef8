package x86

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
	t.Logf("%d instructions of %d forms", len(insts), NumForms-1)
}

func allInstances(r *rand.Rand) []Inst {
	var out []Inst
	for op := NoOp + 1; op < NumForms; op++ {
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
func generalImm(r *rand.Rand, f *Form) int64 {
	switch {
	case strings.HasPrefix(f.Name, "S") && f.op == 0xC1:
		return int64(2 + r.IntN(60))
	case f.Elem == 1:
		return int64(r.IntN(256) - 128)
	}
	return int64(1000 + r.IntN(1<<30))
}

func minWidth(f *Form) Width {
	switch {
	case strings.HasPrefix(f.Name, "VPERMPS"), strings.HasPrefix(f.Name, "VPERMD"), strings.HasPrefix(f.Name, "VPERMPD"),
		strings.HasPrefix(f.Name, "VPERMQ"), f.Name == "VBROADCASTSD", f.Flags&fLen256 != 0 && f.Flags&fEVEX != 0:
		return W256
	}
	return W128
}

func maxWidth(f *Form) Width {
	if f.Flags&fEVEX == 0 {
		return W256
	}
	return W512
}

func randomInst(r *rand.Rand, op Op) (Inst, bool) {
	f := &Forms[op]
	lo, hi := minWidth(f), maxWidth(f)
	if f.Flags&fLen256 != 0 && f.Flags&fEVEX == 0 {
		lo = W256
	}
	if strings.Contains(f.Name, "64X4") {
		lo = W512
	}
	if f.Flags&fNoLen != 0 {
		lo, hi = W128, W128
	}
	in := Inst{Op: op, Width: lo + Width(r.IntN(int(hi-lo)+1)), Mask: NoReg}
	// The Go assembler takes mask registers as an operand of blends and moves; both encodings of compares exist.
	toMask := f.Flags&ToMask != 0 && (f.Flags&fVEX == 0 || r.IntN(2) == 0 || in.Width == W512)
	evexOnly := f.Flags&fVEX == 0
	high := 16
	if f.Flags&fEVEX != 0 && (evexOnly || toMask) {
		high = 32
	}
	vsib := f.Flags&VSIB != 0
	memory := memorySlot(f)
	for i := range f.widths {
		in.Args[i] = randomArg(r, f, i, high, toMask)
	}
	if memory >= 0 && (vsib || mustBeMemory(f) || r.IntN(2) == 0 && mayBeMemory(f)) {
		in.Args[memory] = MemArg(randomMem(r, f, vsib, high))
	}
	if n := len(f.widths); f.Layout == LayoutRVMI || f.Layout == LayoutRMI || f.Layout == LayoutMRI || f.Layout == LayoutVMI {
		in.Args[n] = ImmArg(int64(r.IntN(8)))
		if f.Elem == 4 && f.Flags&Legacy != 0 {
			in.Args[n] = ImmArg(generalImm(r, f))
		}
	}
	if f.Layout == LayoutMI {
		in.Args[1] = ImmArg(generalImm(r, f))
		if in.Args[0].Kind == ArgReg && in.Args[0].Reg == AX { // Go has a shorter form for AX alone
			in.Args[0].Reg = R8
		}
	}
	if vsib && f.Flags&fEVEX != 0 {
		in.Mask = K(1 + r.IntN(7))
	} else if maskable(f, in, evexOnly) && r.IntN(3) == 0 {
		in.Mask = K(1 + r.IntN(7))
		in.Zero = r.IntN(2) == 0 && !toMask && in.Args[0].Kind != ArgMem
	}
	if strings.HasPrefix(f.Name, "VBLENDM") || strings.HasPrefix(f.Name, "VPBLENDM") {
		in.Mask = K(1 + r.IntN(7))
	}
	return distinct(f, in)
}

// distinct drops gathers whose registers clash: they are undefined.
func distinct(f *Form, in Inst) (Inst, bool) {
	if f.Flags&VSIB == 0 {
		return in, true
	}
	seen := map[Reg]bool{}
	for _, a := range in.Args {
		rg := NoReg
		if a.Kind == ArgReg {
			rg = a.Reg
		} else if a.Kind == ArgMem {
			rg = a.Mem.Index
		}
		if rg != NoReg && seen[rg] {
			return in, false
		}
		seen[rg] = true
	}
	return in, true
}

func maskable(f *Form, in Inst, evexOnly bool) bool {
	if f.Flags&fEVEX == 0 || f.Flags&ToMask != 0 && !in.Args[0].Reg.isMask() ||
		in.Args[0].Kind == ArgReg && !in.Args[0].Reg.isVector() && !in.Args[0].Reg.isMask() {
		return false
	}
	if strings.HasPrefix(f.Name, "VPMOV") && strings.Contains(f.Name, "2") || strings.HasPrefix(f.Name, "VMOVNT") ||
		f.Name == "VMOVD" || f.Name == "VMOVQ" || f.Name == "VPSADBW" || f.widths == "xxg" || f.widths == "gv" {
		return false
	}
	return in.Args[0].Kind != ArgMem || f.Layout == lMR || f.Layout == LayoutMRI
}

func memorySlot(f *Form) int {
	switch f.Layout {
	case lRVM, LayoutRVMI, LayoutRVMX:
		return 2
	case lRM, LayoutRMI, LayoutVMI, lRMV:
		return 1
	}
	return 0
}

// mustBeMemory: between registers the Go assembler always takes the store form of a move, and the other form of a sum.
func mustBeMemory(f *Form) bool {
	move := strings.HasPrefix(f.Name, "VMOV") && !strings.Contains(f.widths, "g")
	if f.Flags&Legacy != 0 {
		return f.Layout == lMR || f.op == 0x8D || f.op == 0x18 || f.op == 0xC7 ||
			f.Name == "MOVL" || f.Name == "MOVQ" && f.Layout == lRM
	}
	return f.Layout == lMVR || strings.HasPrefix(f.Name, "VMASKMOV") || strings.HasPrefix(f.Name, "VPMASKMOV") ||
		strings.HasPrefix(f.Name, "VMOVNT") || f.Name == "VMOVSS" || f.Name == "VMOVSD" || move && f.Layout == lRM
}

func mayBeMemory(f *Form) bool {
	if strings.HasPrefix(f.Name, "K") || strings.Contains(f.widths, "m") && f.Flags&ToMask == 0 ||
		f.Name == "VMOVMSKPS" || f.Name == "VMOVMSKPD" || f.Layout == LayoutVMI && f.Flags&fEVEX != 0 ||
		strings.HasPrefix(f.Name, "VPBROADCAST") && strings.Contains(f.widths, "g") {
		return false
	}
	return true
}

func randomArg(r *rand.Rand, f *Form, i, high int, toMask bool) Arg {
	switch f.widths[i] {
	case 'g', 'b':
		return RegArg(randomGeneral(r))
	case 'm':
		if f.Flags&ToMask != 0 && !toMask {
			return RegArg(V(r.IntN(16)))
		}
		return RegArg(K(r.IntN(8)))
	}
	return RegArg(V(r.IntN(high)))
}

func randomGeneral(r *rand.Rand) Reg {
	return []Reg{AX, CX, DX, BX, BP, SI, DI, R8, R(9), R(10), R(11), R(12), R(13), R(15)}[r.IntN(14)]
}

func randomMem(r *rand.Rand, f *Form, vsib bool, high int) Mem {
	m := Mem{Base: randomGeneral(r), Index: NoReg, Scale: 1}
	m.Disp = []int32{0, 4, 8, 32, 64, 128, -64, 127, -256, 1000, 1 << 20}[r.IntN(11)]
	switch {
	case vsib:
		m.Index, m.Scale = V(r.IntN(high)), 1<<r.IntN(4)
	case r.IntN(2) == 0:
		m.Index, m.Scale = randomGeneral(r), 1<<r.IntN(4)
	}
	m.Broadcast = !vsib && f.Flags&fEVEX != 0 && f.Flags&fVEX == 0 && (f.tuple == tFull || f.tuple == tHalf) && r.IntN(3) == 0
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
			if _, ok := starts[ln]; !ok { // a prefix is an instruction of its own
				starts[ln] = off
			}
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

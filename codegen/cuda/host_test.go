package cuda_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
)

// TestPrintedExpressionsAreGo runs printed kernels as plain C++, where the compiler reports signed overflow, shifts
// past the width and conversions out of range, and compares with the evaluation of the IR in Go.
func TestPrintedExpressionsAreGo(t *testing.T) {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("no g++ to run printed kernels on the host")
	}
	for seed := range uint64(2) {
		for _, v := range versions {
			t.Run(fmt.Sprintf("seed%d%s", seed, v.suffix), func(t *testing.T) {
				t.Parallel()
				g := newRandomProgram(seed, 260, 4)
				src, err := cuda.Print(g.prog, v.options)
				require.NoError(t, err)
				in := g.inputs(24)
				g.compare(t, in, runOnHost(t, compiler, g.hostProgram(src, in)), src.Text)
			})
		}
	}
}

// inputs are the bit patterns of the input slices, and the values of n and m.
type inputs struct {
	rows   int
	slices map[*ir.Type][]uint64
	n, m   int64
}

func (g *randomProgram) inputs(rows int) inputs {
	in := inputs{rows: rows, slices: map[*ir.Type][]uint64{}, n: 1<<30 - 1, m: -(1<<30 - 1)}
	for _, t := range scalars {
		for range 2 * rows {
			in.slices[t] = append(in.slices[t], g.value(t))
		}
	}
	return in
}

// expected evaluates expression k for a row.
func (g *randomProgram) expected(t *testing.T, in inputs, k, row int) uint64 {
	env := ir.Values{}
	for typ, vars := range g.vars {
		for j, v := range vars[:2] {
			env[v] = ir.Value{Bits: in.slices[typ][2*row+j]}
		}
	}
	for i, x := range []int64{int64(in.rows), in.n, in.m} {
		env[g.narrow[i]] = ir.Value{Bits: uint64(x)}
	}
	env[g.row] = ir.Value{Bits: uint64(row)}
	bits, err := ir.Eval(g.exprs[k], env)
	require.NoError(t, err, ir.ExprString(g.exprs[k]))
	return bits
}

// compare takes results in the order of expressions, and of rows in each.
func (g *randomProgram) compare(t *testing.T, in inputs, got []uint64, text string) {
	require.Len(t, got, len(g.exprs)*in.rows)
	lines := map[string]string{}
	for _, l := range strings.Split(text, "\n") {
		if name, _, ok := strings.Cut(strings.TrimSpace(l), "[row] = "); ok {
			lines[name] = l
		}
	}
	for k, e := range g.exprs {
		for row := range in.rows {
			want, have := g.expected(t, in, k, row), got[k*in.rows+row]
			if !sameBits(e.Type(), want, have) {
				t.Errorf("row %d: want %x, got %x\n%s\n%s", row, want, have, ir.ExprString(e), lines[g.out[k].Name])
				break
			}
		}
	}
}

// sameBits compares results; which NaN it is does not matter.
func sameBits(t *ir.Type, a, b uint64) bool {
	if t.IsFloat() && math.IsNaN(ir.Float(t, a)) {
		return math.IsNaN(ir.Float(t, b))
	}
	return ir.Normal(t, a) == ir.Normal(t, b)
}

// hostProgram is the printed text between a prelude for the host and a main that prints all results.
func (g *randomProgram) hostProgram(src *cuda.Source, in inputs) string {
	var b, args strings.Builder
	b.WriteString("#include \"host.h\"\n" + src.Text + "\nint main()\n{\n")
	for _, t := range scalars {
		fmt.Fprintf(&b, "\tunsigned char in_%s[] = {%s};\n", t.Name, byteList(t, in.slices[t]))
	}
	for _, v := range g.out {
		fmt.Fprintf(&b, "\tstatic unsigned char %s[%d];\n", v.Name, in.rows*int(v.Type.Elem.Size))
	}
	for i, a := range src.Entries[0].Args {
		if i > 0 {
			args.WriteString(", ")
		}
		args.WriteString(g.argument(a, in))
	}
	fmt.Fprintf(&b, "\trandoms(%s);\n", args.String())
	for _, v := range g.out {
		size := int(v.Type.Elem.Size)
		fmt.Fprintf(&b, "\tfor (int i = 0; i < %d; i++) {\n\t\tunsigned long long x = 0;\n\t\tmemcpy(&x, %s + i * %d, %d);\n\t\tprintf(\"%%llx\\n\", x);\n\t}\n",
			in.rows, v.Name, size, size)
	}
	return b.String() + "}\n"
}

func (g *randomProgram) argument(a cuda.Argument, in inputs) string {
	switch a.Var {
	case g.narrow[0]:
		return strconv.Itoa(in.rows)
	case g.narrow[1]:
		return strconv.FormatInt(in.n, 10)
	case g.narrow[2]:
		return strconv.FormatInt(in.m, 10)
	}
	if a.Kind == cuda.Divisor {
		env := ir.Values{}
		for i, x := range []int64{int64(in.rows), in.n, in.m} {
			env[g.narrow[i]] = ir.Value{Bits: uint64(x)}
		}
		d, _ := ir.EvalInt(a.Of, env)
		multiplier, shift := cuda.Multiplier(max(d, -d))
		return fmt.Sprintf("{%du, %du}", multiplier, shift)
	}
	return fmt.Sprintf("(%s)%s", pointerTo(a.Var.Type.Elem), a.Var.Name)
}

func pointerTo(t *ir.Type) string {
	names := map[*ir.Type]string{ir.Int8Type: "signed char", ir.Int16Type: "short", ir.Int32Type: "int", ir.IntType: "long long",
		ir.Uint8Type: "unsigned char", ir.Uint16Type: "unsigned short", ir.Uint32Type: "unsigned", ir.Uint64Type: "unsigned long long",
		ir.Float32Type: "float", ir.Float64Type: "double"}
	return names[t] + "*"
}

func byteList(t *ir.Type, list []uint64) string {
	var b strings.Builder
	for _, x := range list {
		for i := range int(t.Size) {
			fmt.Fprintf(&b, "%d,", byte(x>>(8*i)))
		}
	}
	return b.String()
}

// runOnHost compiles and runs a program and returns the hexadecimal numbers that it prints.
func runOnHost(t *testing.T, compiler, text string) []uint64 {
	t.Helper()
	dir := t.TempDir()
	path, binary := filepath.Join(dir, "main.cc"), filepath.Join(dir, "main")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	here, err := filepath.Abs("testdata")
	require.NoError(t, err)
	run(t, exec.Command(compiler, "-std=c++17", "-w", "-O1", "-ffp-contract=off", "-fsanitize=undefined,float-cast-overflow",
		"-fno-sanitize=alignment,float-divide-by-zero", "-fno-sanitize-recover=all", "-I"+here, "-o", binary, path))
	var out []uint64
	for _, f := range strings.Fields(run(t, exec.Command(binary))) {
		x, err := strconv.ParseUint(f, 16, 64)
		require.NoError(t, err)
		out = append(out, x)
	}
	return out
}

func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%.3000s", cmd.Path, errorsOf(stderr.String()))
	return string(out)
}

// errorsOf returns the lines of a compiler's output that say what is wrong.
func errorsOf(s string) string {
	var out []string
	for _, l := range strings.Split(s, "\n") {
		if strings.Contains(l, "error:") || strings.Contains(l, "[row] =") {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

package codegen_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// An affineWriter draws kernels whose indices the host may prove: nests of loops of every form, helpers, parts of slices, conditions,
// remainders, and arithmetic in narrow types.
type affineWriter struct {
	*rapid.T
	b     strings.Builder
	vars  []string // ints in scope
	names int
}

func (w *affineWriter) pick(list ...string) string { return rapid.SampledFrom(list).Draw(w.T, "pick") }

func (w *affineWriter) number(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(w.T, "number") }

func (w *affineWriter) fresh() string {
	w.names++
	return fmt.Sprintf("v%d", w.names)
}

// value draws an int that is small as a rule.
func (w *affineWriter) value() string {
	return w.pick(append([]string{"0", "1", "2", "n", "m"}, w.vars...)...)
}

// index draws an index.
func (w *affineWriter) index(depth int) string {
	if depth == 0 {
		return w.value()
	}
	x, y := w.index(depth-1), w.value()
	switch w.number(0, 25) {
	case 20:
		return w.pick("clamp", "bounded") + "(" + x + ", " + w.pick("0", "0", "1", y) + ", " + w.pick("n-1", "m-1", "len(x)-1", "7", y) + ")"
	case 21:
		return w.pick("wrap", "floor", "next", "of") + "(" + x + ", " + w.pick("n", "m", "len(x)", "8", y) + ")"
	case 22:
		return "((" + x + w.pick(" + 1", " + n - 1", " - 1 + n", " + m") + ")%" + w.pick("n", "m", "8") + ")"
	case 23:
		return "int(x[" + x + "])"
	case 24:
		return "max(min(" + x + ", " + w.pick("n-1", "len(x)-1") + "), 0)"
	case 25:
		return "int(narrow(int32(" + x + "), c))"
	case 16:
		return "(" + x + "<<1 | " + w.pick("1", "0", y+"&1") + ")"
	case 17:
		return "(" + x + w.pick(" | ", " ^ ", " &^ ", " & -") + w.pick("1", "3", "4") + ")"
	case 18:
		return "(" + x + w.pick(">>2<<2 | "+x+"&3)", "&^1 + "+x+"&1)", "/3*3 + "+x+"%3)", "/m*m + "+x+"%m)")
	case 0, 1, 2:
		return "(" + x + "*" + w.pick("m", "n", "2", "3") + " + " + y + ")"
	case 3, 4:
		return "(" + x + " + " + y + ")"
	case 5:
		return "(" + x + " - " + y + ")"
	case 6:
		return "at(" + x + ", " + y + ", " + w.pick("m", "n", "4") + ")"
	case 7:
		return "(" + x + " % " + w.pick("3", "4", "m") + ")"
	case 8:
		return "(" + x + " / " + w.pick("2", "m") + ")"
	case 9:
		return "min(" + x + ", n-1)"
	case 10:
		return "max(" + x + "-1, 0)"
	case 11:
		return "(" + x + " & 7)"
	case 12:
		return "int(int32(" + x + ") * " + w.pick("c", "2") + ")"
	case 13:
		return "(" + x + " >> 1)"
	}
	return x
}

// changed writes a variable that later statements change, on some paths.
func (w *affineWriter) changed() {
	v, x := w.fresh(), w.index(w.number(0, 2))
	if w.number(0, 3) == 0 {
		fmt.Fprintf(&w.b, "var %s int\nif %s {\n%s = %s\n} else {\n%s = %s\n}\n", v, w.condition(), v, x, v, w.index(1))
	} else {
		fmt.Fprintf(&w.b, "%s := %s\n", v, x)
	}
	for range w.number(0, 3) {
		w.change(v)
	}
	fmt.Fprintf(&w.b, "x[%s]++\n", w.pick(v, v, v, v+"+1", v+" - 1", v+"*m + "+w.value()))
	w.vars = append(w.vars, v)
}

// change writes a statement that may change v.
func (w *affineWriter) change(v string) {
	of := []string{v, w.value()}
	cond := w.pick(v+" < 0", v+" == n", v+" != n", v+" >= n", v+" > n-1", v+" == len(x)", v+" >= len(x)", v+" < "+of[1], v+" != "+of[1], of[1]+" == 0", of[1]+" != 0", of[1]+" < n-1",
		v+" < 0 || "+v+" >= n", v+" > 0 && "+v+" <= m", w.condition())
	to := func() string {
		return v + w.pick(" = 0", " = n-1", " += n", " -= n", " = len(x)-1", " = "+w.value(), "++", "--", " += "+w.value(), " = "+w.index(1))
	}
	switch w.number(0, 9) {
	case 0:
		fmt.Fprintf(&w.b, "if %s {\n%s\n} else {\n%s\n}\n", cond, to(), to())
	case 1:
		fmt.Fprintf(&w.b, "if %s {\n%s\n} else if %s {\n%s\n}\n", cond, to(), w.condition(), to())
	case 2:
		fmt.Fprintf(&w.b, "switch {\ncase %s:\n%s\nif %s {\nbreak\n}\n%s\ncase %s:\n%s\n}\n", cond, to(), w.condition(), to(), w.condition(), to())
	case 3:
		fmt.Fprintf(&w.b, "for q := 0; q < %s; q++ {\nif %s {\n%s\n}\nx[%s]++\n%s\n}\n", w.pick("2", "n"), cond, w.pick("break", "continue", to()), w.pick(v, "q"), w.pick("", to()))
	case 4:
		fmt.Fprintf(&w.b, "for x[0] > 7 {\nif %s {\nbreak\n}\n%s\nx[0]--\n}\n", cond, to())
	case 5:
		fmt.Fprintf(&w.b, "if %s {\nx[%s]++\n%s\nx[%s]++\n}\n", cond, v, to(), v)
	case 6:
		fmt.Fprintf(&w.b, "%s\n", to())
	default:
		fmt.Fprintf(&w.b, "if %s {\n%s\n}\n", cond, to())
	}
}

// loop draws the head of a loop and its variable.
func (w *affineWriter) loop() (head, variable string) {
	v := w.fresh()
	lo, hi := w.pick("0", "0", "0", "1", w.value(), "1+("+w.value()+"+n)%2"), w.pick("n", "m", "n-1", "n+1", "n/2", "min("+w.value()+"+3, n)", w.value(), w.value()+"+1")
	switch w.number(0, 13) {
	case 13:
		return fmt.Sprintf("for %s := %s; %s %s %s; %s -= s", v, hi, v, w.pick(">", ">="), lo, v), v
	case 0:
		return fmt.Sprintf("for %s := %s; %s <= %s; %s++", v, lo, v, hi, v), v
	case 1:
		return fmt.Sprintf("for %s := %s; %s < %s; %s += 2", v, lo, v, hi, v), v
	case 2:
		return fmt.Sprintf("for %s := %s; %s >= %s; %s--", v, hi, v, lo, v), v
	case 3:
		return fmt.Sprintf("for %s := %s - 1; %s >= %s; %s -= 3", v, hi, v, lo, v), v
	case 4:
		return fmt.Sprintf("for %s := 1; %s < %s; %s *= 2", v, v, hi, v), v
	case 5:
		return fmt.Sprintf("for %s := %s; %s > 0; %s >>= 1", v, hi, v, v), v
	case 6:
		return fmt.Sprintf("for %s := %s; %s < %s; %s += s", v, lo, v, hi, v), v
	case 7:
		return fmt.Sprintf("for %s := %s; %s+1 < %s; %s += 2", v, lo, v, hi, v), v
	case 8:
		return fmt.Sprintf("for %s := int32(0); %s < c; %s += %d", v, v, v, w.number(1, 2)), "int(" + v + ")"
	case 9:
		return fmt.Sprintf("for %s := uint8(%d); %s < 250; %s += 10", v, w.number(0, 255), v, v), "int(" + v + ")"
	}
	return fmt.Sprintf("for %s := %s; %s < %s; %s++", v, lo, v, hi, v), v
}

// condition draws what is in front of an access.
func (w *affineWriter) condition() string {
	x, y := w.value(), w.value()
	switch w.number(0, 10) {
	case 8:
		return x + " != " + y
	case 9:
		return x + " > 0 && " + x + " <= m"
	case 10:
		return x + " != n && " + x + " < " + y
	case 0:
		return x + " > 0"
	case 1:
		return x + " + " + y + " < n"
	case 2:
		return x + " <= " + y
	case 3:
		return x + "%2 == 0"
	case 4:
		return x + " >= 1 && " + x + " < n-1"
	case 5:
		return "!(" + x + " < " + y + " || n < 1)"
	case 6:
		return "x[0] > 5"
	}
	return x + " == " + y
}

func (w *affineWriter) statements(depth int) {
	for range w.number(1, 2) {
		w.statement(depth)
	}
}

func (w *affineWriter) statement(depth int) {
	before := len(w.vars)
	switch k := w.number(0, 14); {
	case k >= 12:
		w.changed()
	case depth > 0 && k < 6:
		head, v := w.loop()
		w.b.WriteString(head + " {\n")
		w.vars = append(w.vars, v)
		w.statements(depth - 1)
		w.b.WriteString("}\n")
		w.vars = w.vars[:before]
	case k == 6:
		w.b.WriteString("if " + w.condition() + " {\n")
		w.statements(depth)
		w.b.WriteString("}\n")
	case k == 7:
		v := w.fresh()
		fmt.Fprintf(&w.b, "%s := x[%s:%s]\nif len(%s) > 0 {\n%s[%s]++\n}\n", v, w.index(1), w.pick("", "", w.index(1)), v, v, w.index(1))
	case k == 8:
		fmt.Fprintf(&w.b, "fill(x[%s:%s], %s, %s)\n", w.index(1), w.pick("", w.index(2)), w.value(), w.value())
	case k == 9:
		fmt.Fprintf(&w.b, "t[%s]++\n", w.index(1))
	default:
		fmt.Fprintf(&w.b, "x[%s]++\n", w.index(w.number(0, 3)))
	}
}

// text draws a kernel.
func (w *affineWriter) text() string {
	w.b.WriteString("package k\n\nfunc at(j, k, w int) int {\nr := j * w\nreturn r + k\n}\n\n" +
		"func clamp(v, lo, hi int) int {\nreturn max(lo, min(v, hi))\n}\n\nfunc bounded(v, lo, hi int) int {\nif v < lo {\nreturn lo\n}\nif v > hi {\nreturn hi\n}\nreturn v\n}\n\n" +
		"func wrap(v, n int) int {\nif v < 0 {\nv += n\n}\nif v >= n {\nv -= n\n}\nreturn v\n}\n\nfunc floor(v, n int) int {\nr := v % n\nif r < 0 {\nr += n\n}\nreturn r\n}\n\n" +
		"func next(v, n int) int {\nfor q := 0; q < n; q++ {\nif q == v {\nreturn q\n}\n}\nif v == n {\nreturn 0\n} else if v < 0 {\nreturn n - 1\n}\nreturn v\n}\n\n" +
		"func of(v, n int) int {\nt := v\nif t != 0 {\nt--\n}\nreturn min(t, n)\n}\n\n" +
		"func narrow(v, n int32) int32 {\nv++\nif v == n {\nv = 0\n}\nreturn v\n}\n\nfunc fill(s []int32, a, b int) {\nfor q := a; q < b; q++ {\ns[q]++\n}\n}\n\n" +
		"//omp:target device(acc)\n//omp:task inout(x)\nfunc K(n, m, s int, c int32, x []int32) {\nvar t [8]int32\nh := n + 2\nt[0] += int32(h)\n")
	w.vars = []string{"h"}
	w.statements(3)
	w.b.WriteString("x[0] += t[0] + int32(at(m, s, n)&1) + c\nfill(x, 0, 0)\n}\n")
	return w.b.String()
}

// arguments draws a launch; far is for numbers at the ends of their types.
func (w *affineWriter) arguments() (n, m, s int, c int32, length int) {
	ends := []int{math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 2, 1 << 31, 1 << 32, 1 << 62, -1 << 62}
	draw := func(lo, hi int) int {
		if w.number(0, 19) == 0 {
			return rapid.SampledFrom(ends).Draw(w.T, "end")
		}
		return w.number(lo, hi)
	}
	return draw(-1, 7), draw(-1, 7), draw(1, 3), int32(draw(-1, 5)), rapid.SampledFrom([]int{0, 1, 7, 40, 400, 4000}).Draw(w.T, "length")
}

// TestUnchecked_RandomKernels runs random kernels where the host proves a launch: without the checks they do what they do with them. Where all
// goes well, the host proves most (issue 16 14).
func TestUnchecked_RandomKernels(t *testing.T) {
	launches, proved, fine, missed := 0, 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := &affineWriter{T: rt}
		text := w.text()
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		if err != nil {
			rt.Skip(err)
		}
		k, err := p.Kernel("K")
		require.NoError(rt, err)
		contract := codegen.NewContract(k)
		free := contract.Unchecked(k)
		if free == nil {
			return
		}
		whole, bare := simulated(rt, k, text), simulated(rt, free, text)
		var proof codegen.Proof
		for range 8 {
			n, m, s, c, length := w.arguments()
			args := func() []any { return []any{n, m, s, c, make([]int32, length)} }
			proof.Load(k, contract, valuesOf(&ir.Program{Params: k.Params}, args()))
			proves := proof.Proves()
			launches++
			want, got := args(), args()
			cfg := simt.Config{Teams: 1, Threads: 1, Steps: 100000}
			expected := runDevice(whole, want, cfg)
			if errors.Is(expected, simt.ErrSteps) {
				continue
			}
			if !proves {
				if expected == nil {
					missed++
				}
				continue
			}
			proved++
			require.Equal(rt, fmt.Sprint(expected), fmt.Sprint(runDevice(bare, got, cfg)), "n=%d m=%d s=%d c=%d len=%d\n%s\n%s", n, m, s, c, length, text, free)
			if expected == nil {
				fine++
				require.Equal(rt, want, got, "n=%d m=%d s=%d c=%d len=%d\n%s", n, m, s, c, length, text)
			}
		}
	})
	t.Logf("%d launches, %d proved, %d of them without an error, %d without an error not proved", launches, proved, fine, missed)
	require.Greater(t, proved, missed)
}

func simulated(t rapid.TB, k *ir.Kernel, text string) *simt.Program {
	l, err := codegen.Lower(k, codegen.LowerOptions{})
	require.NoError(t, err, text)
	p, err := simt.New(l.Program)
	require.NoError(t, err, text)
	return p
}

// TestUnchecked_CorpusIsTheSame runs the kernels of the corpus without the checks that the host makes, for the launches that it proves: what they
// do and how they fail is the same (issue 16 14).
func TestUnchecked_CorpusIsTheSame(t *testing.T) {
	p := loadCorpus(t)
	proved, refused := 0, 0
	for _, c := range corpus {
		k, err := p.Kernel(name(c.kernel))
		require.NoError(t, err)
		contract := codegen.NewContract(k)
		free := contract.Unchecked(k)
		if free == nil {
			continue
		}
		whole, bare := simulated(t, k, k.Name), simulated(t, free, k.Name)
		var proof codegen.Proof
		for _, n := range []int{1, 20, 64} {
			for cut := -1; cut < len(k.Params); cut++ {
				args := func() []any {
					args := c.makeArgs(n)
					if cut >= 0 {
						if x := reflect.ValueOf(args[cut]); x.Kind() == reflect.Slice && x.Len() > 0 {
							args[cut] = x.Slice3(0, x.Len()-1, x.Len()-1).Interface()
						}
					}
					return args
				}
				proof.Load(k, contract, valuesOf(&ir.Program{Params: k.Params}, args()))
				if !proof.Proves() {
					refused++
					continue
				}
				proved++
				want, got := args(), args()
				cfg := simt.Config{Teams: 2, Threads: 32}
				expected := runDevice(whole, want, cfg)
				require.Equal(t, fmt.Sprint(expected), fmt.Sprint(runDevice(bare, got, cfg)), "%s, size %d, argument %d shorter", k.Name, n, cut)
				if expected == nil {
					require.Empty(t, c.differ(want, got), "%s, size %d, argument %d shorter", k.Name, n, cut)
				}
			}
		}
	}
	t.Logf("%d launches proved, %d not", proved, refused)
	require.Greater(t, proved, 500)
	require.Greater(t, refused, 100)
}

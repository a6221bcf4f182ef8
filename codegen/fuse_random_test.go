//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/kernel"
	"github.com/gompss/gompss/codegen/simt"
)

// A sumKernel is a random kernel of products and sums, as text and as trees that a judge evaluates by the rules of DIALECT.md
// section 5, with exact arithmetic.
type sumKernel struct {
	*rand.Rand
	text          strings.Builder
	body          []sumStmt
	names         []string // of the variables in scope
	made          int
	reads, writes map[string]int
}

// A sumExpr is a constant (op "0"), a variable ("v"), x+y, x-y, x*y, -x ("n"), a conversion ("c"), or the call of a helper that returns
// early ("e").
type sumExpr struct {
	op       string
	value    float64
	name     string
	x, y     *sumExpr
	asHelper bool // x+y and x*y: the call of one that does so
}

// A sumStmt assigns (op "="), or runs its body if x > y ("if") or three times ("for").
type sumStmt struct {
	op, name string
	x, y     *sumExpr
	body     []sumStmt
}

const sumHelpers = `package k

type F %s

func plus(x, y F) F { return x + y }

func times(x, y F) F { return x * y }

func early(x, y F) F {
	if x < y {
		return x * y
	}
	return x + y*2
}

//omp:target device(acc, smp) contract
func K(out, x, y, z []%[1]s) {
	//omp:teams distribute parallel for
	for i := range out {
		a, b, c := F(x[i]), F(y[i]), F(z[i])
		s := F(out[i])
`

func makeSums(seed uint64, float string) *sumKernel {
	k := &sumKernel{Rand: rand.New(rand.NewPCG(seed, 11)), names: []string{"a", "b", "c", "s"}, reads: map[string]int{}, writes: map[string]int{"a": 1, "b": 1, "c": 1, "s": 1}}
	fmt.Fprintf(&k.text, sumHelpers, float)
	k.body = k.list(8)
	for _, v := range k.names {
		if k.reads[v] == 0 {
			k.body = append(k.body, k.assign("s", &sumExpr{op: "+", x: k.variable("s"), y: k.variable(v)}))
		}
	}
	k.text.WriteString("\t\tout[i] = " + float + "(s)\n\t}\n}\n")
	return k
}

func (k *sumKernel) line(format string, args ...any) {
	fmt.Fprintf(&k.text, "\t\t"+format+"\n", args...)
}

// list makes n statements, and sums for the variables that they leave unread: Go refuses those.
func (k *sumKernel) list(n int) []sumStmt {
	outside := len(k.names)
	var out []sumStmt
	for range n {
		out = append(out, k.stmt(n))
	}
	for _, v := range k.names[outside:] {
		if k.reads[v] == 0 {
			out = append(out, k.assign("s", &sumExpr{op: "+", x: k.variable("s"), y: k.variable(v)}))
		}
	}
	k.names = k.names[:outside]
	return out
}

func (k *sumKernel) stmt(n int) sumStmt {
	switch r := k.IntN(12); {
	case r < 5:
		var x *sumExpr
		if k.IntN(3) > 0 {
			x = &sumExpr{op: "*", x: k.variable(""), y: k.expr(1)}
		} else {
			x = k.expr(2)
		}
		k.made++
		name := fmt.Sprint("t", k.made)
		if k.IntN(4) == 0 {
			k.line("var %s F", name)
			k.line("%s = %s", name, x)
		} else {
			k.line("%s := %s", name, x)
		}
		k.names = append(k.names, name)
		k.writes[name]++
		return sumStmt{op: "=", name: name, x: x}
	case r < 7:
		op := []string{"+", "-", "*"}[k.IntN(3)]
		x := k.expr(2)
		k.line("s %s= %s", op, x)
		k.reads["s"]++
		k.writes["s"]++
		return sumStmt{op: "=", name: "s", x: &sumExpr{op: op, x: &sumExpr{op: "v", name: "s"}, y: x}}
	case r < 8:
		return k.assign([]string{"a", "b", "c"}[k.IntN(3)], k.expr(2))
	case r < 10 && n > 3:
		s := sumStmt{op: "if", x: k.expr(1), y: k.expr(1)}
		k.line("if %s > %s {", s.x, s.y)
		s.body = k.list(3)
		k.line("}")
		return s
	case r < 11 && n > 3:
		k.line("for range 3 {")
		s := sumStmt{op: "for", body: k.list(3)}
		k.line("}")
		return s
	}
	return k.assign("s", k.expr(3))
}

func (k *sumKernel) assign(name string, x *sumExpr) sumStmt {
	k.line("%s = %s", name, x)
	k.writes[name]++
	return sumStmt{op: "=", name: name, x: x}
}

// variable is one of those in scope, rather a new one.
func (k *sumKernel) variable(name string) *sumExpr {
	if name == "" {
		name = k.names[max(k.IntN(len(k.names)), k.IntN(len(k.names)))]
	}
	k.reads[name]++
	return &sumExpr{op: "v", name: name}
}

func (k *sumKernel) expr(depth int) *sumExpr {
	r := k.IntN(16)
	switch {
	case depth == 0 && r < 3:
		return &sumExpr{op: "0", value: []float64{0.5, 1.25, -0.375, 3, 1, 0}[k.IntN(6)]}
	case depth == 0:
		return k.variable("")
	case r < 2:
		return &sumExpr{op: "n", x: k.expr(depth - 1)}
	case r < 3:
		return &sumExpr{op: "c", x: k.expr(depth - 1)}
	case r < 4:
		return &sumExpr{op: "e", x: k.expr(depth - 1), y: k.expr(depth - 1)}
	}
	e := &sumExpr{op: []string{"+", "-", "*", "*"}[k.IntN(4)], x: k.expr(depth - 1), y: k.expr(depth - 1)}
	if e.x.constant() && e.y.constant() {
		e.x = k.variable("") // Go would compute it
	}
	e.asHelper = e.op != "-" && k.IntN(4) == 0
	return e
}

func (e *sumExpr) constant() bool {
	return e.op == "0" || (e.op == "n" || e.op == "c") && e.x.constant()
}

func (e *sumExpr) String() string {
	switch e.op {
	case "0":
		return fmt.Sprint("F(", e.value, ")")
	case "v":
		return e.name
	case "n":
		return fmt.Sprintf("-(%s)", e.x)
	case "c":
		return fmt.Sprintf("F(%s)", e.x)
	case "e":
		return fmt.Sprintf("early(%s, %s)", e.x, e.y)
	}
	if e.asHelper {
		return fmt.Sprintf("%s(%s, %s)", map[string]string{"+": "plus", "*": "times"}[e.op], e.x, e.y)
	}
	return fmt.Sprintf("(%s %s %s)", e.x, e.op, e.y)
}

// A sumJudge runs a sumKernel for one element.
type sumJudge[T kernel.Float] struct {
	*sumKernel
	vars     map[string]T
	products map[string]*[2]T // the factors of variables that are products
}

// exactFMA rounds x*y + z once, from the exact number.
func exactFMA[T kernel.Float](x, y, z T) T {
	near := math.FMA(float64(x), float64(y), float64(z))
	if math.IsNaN(near) || math.IsInf(near, 0) || near == 0 {
		return T(near)
	}
	exact := func(v T) *big.Float { return new(big.Float).SetPrec(4500).SetFloat64(float64(v)) }
	sum := exact(x)
	sum.Mul(sum, exact(y)).Add(sum, exact(z))
	if _, single := any(x).(float32); single {
		v, _ := sum.Float32()
		return T(v)
	}
	v, _ := sum.Float64()
	return T(v)
}

func (j *sumJudge[T]) run(list []sumStmt) {
	for _, s := range list {
		switch s.op {
		case "=":
			delete(j.products, s.name)
			if p := j.product(s.x); p != nil {
				j.products[s.name] = p
			}
			j.vars[s.name] = j.eval(s.x)
		case "if":
			if j.eval(s.x) > j.eval(s.y) {
				j.run(s.body)
			}
		case "for":
			for range 3 {
				j.run(s.body)
			}
		}
	}
}

// product returns the factors of e where it is a product, or a variable that is assigned once and read once and was one.
func (j *sumJudge[T]) product(e *sumExpr) *[2]T {
	switch e.op {
	case "*":
		return &[2]T{j.eval(e.x), j.eval(e.y)}
	case "n":
		if p := j.product(e.x); p != nil {
			return &[2]T{-p[0], p[1]}
		}
	case "v":
		if j.reads[e.name] == 1 && j.writes[e.name] == 1 {
			return j.products[e.name]
		}
	}
	return nil
}

func (j *sumJudge[T]) eval(e *sumExpr) T {
	switch e.op {
	case "0":
		return T(e.value)
	case "v":
		return j.vars[e.name]
	case "n":
		return -j.eval(e.x)
	case "c":
		return j.eval(e.x)
	case "*":
		return T(j.eval(e.x) * j.eval(e.y))
	case "e":
		x, y := j.eval(e.x), j.eval(e.y)
		if x < y {
			return T(x * y)
		}
		return exactFMA(y, 2, x)
	}
	sign := T(1)
	if e.op == "-" {
		sign = -1
	}
	if p := j.product(e.x); p != nil {
		return exactFMA(p[0], p[1], sign*j.eval(e.y))
	}
	if p := j.product(e.y); p != nil {
		return exactFMA(sign*p[0], p[1], j.eval(e.x))
	}
	return j.eval(e.x) + sign*j.eval(e.y)
}

func judgeSums[T kernel.Float](k *sumKernel) func(out, x, y, z []T) {
	return func(out, x, y, z []T) {
		for i := range out {
			j := &sumJudge[T]{k, map[string]T{"a": x[i], "b": y[i], "c": z[i], "s": out[i]}, map[string]*[2]T{}}
			j.run(k.body)
			out[i] = j.vars["s"]
		}
	}
}

// TestContract_RandomSums holds every target to the judge, bit for bit.
func TestContract_RandomSums(t *testing.T) {
	t.Parallel()
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	count := uint64(40)
	if testing.Short() {
		count = 10
	}
	fused := 0
	for seed := range count {
		single, double := makeSums(seed, "float32"), makeSums(seed, "float64")
		fused += sumsEqual(t, arena, single, corpusCase{oracle: judgeSums[float32](single), args: sumArgs[float32]})
		fused += sumsEqual(t, arena, double, corpusCase{oracle: judgeSums[float64](double), args: sumArgs[float64]})
	}
	require.Greater(t, fused, int(count), "hardly any sum is fused")
}

func sumArgs[T float32 | float64](n int, r *rand.Rand) []any {
	return []any{floats[T](r, n), floats[T](r, n), floats[T](r, n), floats[T](r, n)}
}

// sumsEqual runs a kernel everywhere, and returns how many sums of it are fused.
func sumsEqual(t *testing.T, arena *cpu.Arena, s *sumKernel, c corpusCase) int {
	t.Helper()
	text := s.text.String()
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err, text)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	var wants []oracle
	for _, n := range []int{1, 39} {
		want := c.makeArgs(n)
		c.runGo(want)
		wants = append(wants, oracle{n, want})
	}
	for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true, KeepChecks: true}} {
		low, err := codegen.Lower(k, opt)
		require.NoError(t, err, text)
		program, err := simt.New(low.Program)
		require.NoError(t, err)
		for _, o := range wants {
			got := c.makeArgs(o.size)
			require.NoError(t, runDevice(program, got, simt.Config{Teams: 2, Threads: 32, Steps: 10_000_000}), text)
			require.Empty(t, c.differ(o.want, got), "%s\n%s", text, k)
		}
	}
	for machine, o := range cpuMachines(t) {
		code, err := cpu.Compile(codegen.ForCPU(k), o)
		if refusal := (*cpu.Refusal)(nil); errors.As(err, &refusal) {
			t.Fatalf("%s: %v\n%s", machine, err, text)
		}
		prog, err := arena.Install(code)
		require.NoError(t, err)
		for _, o := range wants {
			fences := make([]*fence, 4)
			for i, a := range o.want {
				v := reflect.ValueOf(a)
				fences[i] = newFenceUntil(t, v.Len()*int(v.Type().Elem().Size()))
			}
			got, values := cpuArgs(c.makeArgs(o.size), fences, true)
			require.NoError(t, faults(func() error { return cpu.NewRunner(prog).Call(values, chunks(s.Rand)) }))
			require.Empty(t, c.differ(o.want, got), "%s\n%s\n%s\n%s", machine, text, k, code.Listing())
			for _, f := range fences {
				require.NoError(t, f.free())
			}
		}
	}
	return len(k.Fused)
}

// TestContract_RandomLoops runs the random kernels of TestRandomLoopsOnTheCPU with contract: the interpreter's bits are those of all
// vector code.
func TestContract_RandomLoops(t *testing.T) {
	t.Parallel()
	cpuMachines(t)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	g, count := &goRuns{}, map[string]int{}
	for seed := range uint64(30) {
		k := makeRandom(seed)
		k.text = strings.ReplaceAll(k.text, "device(acc, smp)", "device(acc, smp) contract")
		g.kernels = []randomKernel{k}
		if err := g.check(t, 0, count); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, k.text)
		}
	}
	t.Log(count)
	require.Positive(t, count["vector code"])
	require.Positive(t, count["simt"])
	require.Greater(t, count["fused"], 10)
}

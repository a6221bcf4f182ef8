//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// reduceOfCall is a kernel that takes the minimum of the results of function f.
func reduceOfCall(f string) string {
	return f + "\n\n//omp:target device(acc, smp)\n//omp:task in(x, y) inout(o)\nfunc K(n int64, x, y, o []int64) {\n\tleast := o[0]\n" +
		"\t//omp:teams distribute parallel for reduction(min: least)\n\tfor i := range x {\n\t\tif f(n, x[i], y) < least {\n\t\t\tleast = f(n, x[i], y)\n\t\t}\n\t}\n\to[0] = least\n}\n"
}

// TestReductions_CallsThatWriteTheirOwnMemory: a function that writes its own variables through pointers and slices changes nothing, so that two calls of it
// in an update are one.
func TestReductions_CallsThatWriteTheirOwnMemory(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	vector := 0
	for _, c := range []struct {
		text string
		f    func(n, a int64, y []int64) int64
	}{
		{"a -= n\nreturn a * y[a&3]", func(n, a int64, y []int64) int64 { return (a - n) * y[(a-n)&3] }},
		{"p := &a\n*p -= n\nreturn a * y[a&3]", func(n, a int64, y []int64) int64 { return (a - n) * y[(a-n)&3] }},
		{"b := a\np := &a\nif a > n {\np = &b\n}\nq := p\n*q -= n\nreturn a - 2*b + y[1]", func(n, a int64, y []int64) int64 {
			if a > n {
				return a - 2*(a-n) + y[1]
			}
			return a - n - 2*a + y[1]
		}},
		{"var t [4]int64\ns := t[:]\ns = s[1:3]\ns[a&1] = n\np := &t\np[3] = a\nreturn t[1] - t[3]", func(n, a int64, _ []int64) int64 {
			if a&1 == 0 {
				return n - a
			}
			return -a
		}},
		{"var r struct{ k, l int64 }\nr.k, r.l = a, n\np := &r\np.l += y[0]\nq := &p.k\n*q -= p.l\nreturn r.k", func(n, a int64, y []int64) int64 { return a - n - y[0] }},
	} {
		text := reduceOfCall("func f(n, a int64, y []int64) int64 {\n" + c.text + "\n}")
		runner := newFlowRunner(t)
		arena, err := cpu.NewArena()
		require.NoError(t, err)
		targets, err := runner.targets(flowKernel{text: text}, arena)
		require.NoError(t, err, text)
		require.Positive(t, runner.count["device code"], text)
		vector += runner.count["vector code"]
		for n := int64(-3); n < 40; n += 14 {
			x, y := numbersTo(77, func(i int) int64 { return int64(i*i) % 53 }), []int64{3, -7, 11, 2}
			least := int64(9)
			for _, a := range x {
				least = min(least, c.f(n, a, y))
			}
			for _, target := range targets {
				require.NoError(t, runner.run(target, rand.New(rand.NewPCG(1, 2)), []any{n, x, y, []int64{9}}, []any{n, x, y, []int64{least}}, goRun{}), "%s\n%s", target.name, text)
			}
		}
		runner.close()
		require.NoError(t, arena.Close())
	}
	require.Positive(t, vector)
}

// TestReductions_CallsThatWriteOtherMemory: a function that may write other memory is called as often as the text says, and its result is compared with
// another one.
func TestReductions_CallsThatWriteOtherMemory(t *testing.T) {
	for _, f := range []string{
		"func f(n, a int64, y []int64) int64 {\n\ty[0] = a\n\treturn a\n}",
		"func f(n, a int64, y []int64) int64 {\n\tp := &a\n\tif n > 3 {\n\t\tp = &y[1]\n\t}\n\t*p = 3\n\treturn a\n}",
		"func f(n, a int64, y []int64) int64 {\n\tp := &a\n\tq := p\n\tfor range 2 {\n\t\t*q = n\n\t\tq = p\n\t\tp = &y[2]\n\t}\n\treturn a\n}",
		"func f(n, a int64, y []int64) int64 {\n\tvar t [4]int64\n\ts := t[:]\n\tif a > n {\n\t\ts = y[:4]\n\t}\n\ts[1] = n\n\treturn t[1]\n}",
		"func part(y []int64) []int64 { return y[1:] }\n\nfunc f(n, a int64, y []int64) int64 {\n\ts := part(y)\n\ts[0] = n\n\treturn a\n}",
	} {
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + reduceOfCall(f)})
		if err == nil {
			_, err = p.Kernel("K")
		}
		require.ErrorContains(t, err, "may only be updated by its operator here", f)
	}
}

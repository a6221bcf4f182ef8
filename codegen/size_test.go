package codegen_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
)

// repeat joins n texts made of their numbers.
func repeat(n int, format func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(format(i))
	}
	return b.String()
}

// kernelOf is a file with a kernel K over x and n with a body, behind declarations.
func kernelOf(decls, body string) string {
	return "package p\n\n" + decls + "\n//omp:target\n//omp:task inout(x)\nfunc K(n int, x []int) {\n" + body + "\n}\n"
}

func overLoop(body string) string {
	return "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\n" + body + "\n}"
}

var largeSources = []struct {
	name, text string
}{
	{"doubling", kernelOf("func f0(x int) int { return x }\n"+repeat(30, func(i int) string {
		return fmt.Sprintf("func f%d(x int) int { return f%d(x) + f%d(x*2) }\n", i+1, i, i)
	}), overLoop("x[i] = f25(i)"))},
	{"doublingBig", kernelOf("func f0(x int) int { if x > 3 { return x }; return 2 }\n"+repeat(30, func(i int) string {
		return fmt.Sprintf("func f%d(x int) int { if x < 0 { return 1 }; return f%d(x) + f%d(x*2) }\n", i+1, i, i)
	}), overLoop("x[i] = f25(i)"))},
	{"literals", kernelOf("", overLoop("f0 := func(x int) int { return x }\n"+repeat(25, func(i int) string {
		return fmt.Sprintf("f%d := func(x int) int { return f%d(x) + f%d(x*2) }\n", i+1, i, i)
	})+"x[i] = f25(i)"))},
	{"types", kernelOf("type T0 struct{ a int }\n"+repeat(29, func(i int) string {
		return fmt.Sprintf("type T%d struct{ a, b T%d }\n", i+1, i)
	}), overLoop("var t T29\nx[i] = t.a.a.b.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a"))},
	{"types10", kernelOf("type T0 struct{ a int }\n"+repeat(10, func(i int) string {
		return fmt.Sprintf("type T%d struct{ a, b T%d }\n", i+1, i)
	}), overLoop("var t T10\nt.a.a.a.a.a.a.a.a.a.a.a = i\nu := t\nx[i] = u.a.a.a.a.a.a.a.a.a.a.a"))},
	{"types29pointer", kernelOf("type T0 struct{ a int }\n"+repeat(29, func(i int) string {
		return fmt.Sprintf("type T%d struct{ a, b *T%d }\n", i+1, i)
	}), overLoop("var t T29\nif t.a != nil { x[i] = 1 }"))},
	{"types29slice", kernelOf("type T0 struct{ a int }\n"+repeat(29, func(i int) string {
		return fmt.Sprintf("type T%d struct{ a, b []T%d }\n", i+1, i)
	}), overLoop("var t T29\nx[i] = len(t.a)"))},
	{"arrays", kernelOf("type T0 [2]int\n"+repeat(29, func(i int) string {
		return fmt.Sprintf("type T%d [2]T%d\n", i+1, i)
	}), overLoop("var t T29\nx[i] = t[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]"))},
	{"cases", kernelOf("", overLoop("switch x[i] {\n"+repeat(20000, func(i int) string {
		return fmt.Sprintf("case %d: x[i] = %d\n", i, i*7%31)
	})+"}"))},
	{"cases900", kernelOf("", overLoop("switch x[i] {\n"+repeat(900, func(i int) string {
		return fmt.Sprintf("case %d: x[i] = %d\n", i, i*7%31)
	})+"}"))},
	{"cases900n", kernelOf("", overLoop("for j := 0; j < n; j++ {\nswitch x[i] {\n"+repeat(900, func(i int) string {
		return fmt.Sprintf("case %d: x[i] = %d\n", i, i*7%31)
	})+"}\n}\n"))},
	{"regions1000", "package p\n\n//omp:target\n//omp:task inout(" + strings.TrimSuffix(repeat(1000, func(i int) string { return fmt.Sprintf("x[%d:%d],", 2*i, 2*i+1) }), ",") +
		")\nfunc K(n int, x []int) {\n" + overLoop("x[i]++") + "\n}\n"},
	{"statements9900", kernelOf("", repeat(9900, func(i int) string { return fmt.Sprintf("x[%d] = %d\n", i%7, i) }))},
	{"statementsInLoop9900", kernelOf("", overLoop(repeat(9900, func(i int) string { return fmt.Sprintf("x[i] += %d\n", i) })))},
	{"statements", kernelOf("", repeat(300000, func(i int) string { return fmt.Sprintf("x[%d] = %d\n", i%7, i) }))},
	{"statementsInLoop", kernelOf("", overLoop(repeat(300000, func(i int) string { return fmt.Sprintf("x[i] += %d\n", i) })))},
	{"regions", "package p\n\n//omp:target\n//omp:task inout(" + strings.TrimSuffix(repeat(20000, func(i int) string { return fmt.Sprintf("x[%d:%d],", 2*i, 2*i+1) }), ",") +
		")\nfunc K(n int, x []int) {\n" + overLoop("x[i]++") + "\n}\n"},
	{"regionsLines", "package p\n\n//omp:target\n" + repeat(20000, func(i int) string { return fmt.Sprintf("//omp:task inout(x[%d:%d])\n", 2*i, 2*i+1) }) +
		"func K(n int, x []int) {\n" + overLoop("x[i]++") + "\n}\n"},
	{"expression", kernelOf("", overLoop("x[i] = "+strings.Repeat("(", 1500)+"i"+strings.Repeat("+1)", 1500)))},
	{"sum", kernelOf("", overLoop("x[i] = i"+strings.Repeat(" + n", 20000)))},
	{"sum1900", kernelOf("", overLoop("x[i] = i"+strings.Repeat(" + n", 1900)))},
	{"kernels", "package p\n\n" + repeat(3000, func(i int) string {
		return fmt.Sprintf("//omp:target\n//omp:task inout(x)\nfunc K%d(n int, x []int) {\n%s\n}\n", i, overLoop("x[i]++"))
	})},
	{"variables", kernelOf("", overLoop(repeat(4900, func(i int) string { return fmt.Sprintf("v%d := x[i] + %d\n", i, i) })+repeat(4900, func(i int) string { return fmt.Sprintf("x[i] += v%d\n", i) })))},
	{"variablesOutside", kernelOf("", repeat(4900, func(i int) string { return fmt.Sprintf("v%d := n + %d\n", i, i) })+overLoop(repeat(4900, func(i int) string { return fmt.Sprintf("x[i] += v%d\n", i) })))},
	{"loops", kernelOf("", repeat(150, func(i int) string { return fmt.Sprintf("for i%d := 0; i%d < n; i%d++ {\n", i, i, i) })+"x[i0] += 1\n"+strings.Repeat("}\n", 150))},
	{"loopsInARow", kernelOf("", repeat(3000, func(i int) string { return overLoop("x[i]++") + "\n" }))},
	{"plainLoopsInARow", kernelOf("", repeat(3000, func(i int) string { return "for i := 0; i < n; i++ {\nx[i]++\n}\n" }))},
	{"innerLoops", kernelOf("", overLoop(repeat(1900, func(i int) string { return "for j := 0; j < n; j++ {\nx[i] += j\n}\n" })))},
	{"ifs", kernelOf("", overLoop(repeat(900, func(i int) string { return fmt.Sprintf("if x[i] > %d {\n", i) })+"x[i] = 1\n"+strings.Repeat("}\n", 900)))},
	{"elseIfs", kernelOf("", overLoop(repeat(900, func(i int) string { return fmt.Sprintf("if x[i] == %d { x[i] = %d } else ", i, i+1) })+"{ x[i] = 1 }\n"))},
	{"elseIfsMany", kernelOf("", overLoop(repeat(20000, func(i int) string { return fmt.Sprintf("if x[i] == %d { x[i] = %d } else ", i, i+1) })+"{ x[i] = 1 }\n"))},
	{"array", kernelOf("var t = [20000]int{"+repeat(20000, func(i int) string { return fmt.Sprintf("%d,", i) })+"}\n", overLoop("x[i] = t[i%20000]"))},
	{"localArray", kernelOf("", overLoop("t := [20000]int{"+repeat(20000, func(i int) string { return fmt.Sprintf("%d,", i) })+"}\nx[i] = t[i%20000]"))},
	{"hugeArray", kernelOf("", overLoop("var t [1<<40]int\nx[i] = t[i%20000]"))},
	{"collapse", kernelOf("", "//omp:teams distribute parallel for collapse(64)\n"+repeat(64, func(i int) string { return fmt.Sprintf("for i%d := 0; i%d < n; i%d++ {\n", i, i, i) })+"x[i0] += 1\n"+strings.Repeat("}\n", 64))},
	{"unroll", kernelOf("", overLoop(repeat(12, func(i int) string { return fmt.Sprintf("for i%d := 0; i%d < 4; i%d++ {\n", i, i, i) })+"x[i] += i0\n"+strings.Repeat("}\n", 12)))},
	{"unrollArrays", kernelOf("", overLoop("var t [4]int\n"+repeat(12, func(i int) string { return fmt.Sprintf("for i%d := 0; i%d < 4; i%d++ {\n", i, i, i) })+"t[i0] += i11\n"+strings.Repeat("}\n", 12)+"x[i] = t[1]+t[2]"))},
	{"parameters", "package p\n\n//omp:target\nfunc K(" + repeat(1000, func(i int) string { return fmt.Sprintf("x%d []int, ", i) }) + "n int) {\n" + overLoop(repeat(1000, func(i int) string { return fmt.Sprintf("x%d[i]++\n", i) })) + "\n}\n"},
	{"fields", kernelOf("type T struct {\n"+repeat(4000, func(i int) string { return fmt.Sprintf("f%d int\n", i) })+"}\n", overLoop("var t T\n"+repeat(4000, func(i int) string { return fmt.Sprintf("t.f%d = x[i]\n", i) })+"x[i] = t.f77"))},
	{"fields100", kernelOf("type T struct {\n"+repeat(100, func(i int) string { return fmt.Sprintf("f%d int\n", i) })+"}\n", overLoop("var t T\n"+repeat(5000, func(i int) string { return fmt.Sprintf("t.f%d += x[i]\n", i%100) })+"x[i] = t.f77"))},
	{"helpers", kernelOf(repeat(2400, func(i int) string { return fmt.Sprintf("func f%d(x int) int { return x + %d }\n", i, i) }), overLoop(repeat(2400, func(i int) string { return fmt.Sprintf("x[i] = f%d(x[i])\n", i) })))},
	{"calls", kernelOf("func f(x int) int { if x > 3 { return 5 }; for x < 100 { x *= 3 }; return x }\n", overLoop(strings.Repeat("x[i] = f(x[i])\n", 1900)))},
	{"chainOfCalls", kernelOf("func f0(x int) int { return x }\n"+repeat(3000, func(i int) string { return fmt.Sprintf("func f%d(x int) int { return f%d(x) + 1 }\n", i+1, i) }), overLoop("x[i] = f3000(x[i])"))},
	{"nestedCalls", kernelOf("func f(x int) int { return x + 1 }\n", overLoop("x[i] = "+strings.Repeat("f(", 900)+"i"+strings.Repeat(")", 900)))},
	{"conditions", kernelOf("", overLoop("if x[i] == 0"+repeat(1900, func(i int) string { return fmt.Sprintf(" || x[i] == %d", i) })+" { x[i] = 1 }"))},
	{"constants", kernelOf("const c0 = 1\n"+repeat(20000, func(i int) string { return fmt.Sprintf("const c%d = c%d + 1\n", i+1, i) }), overLoop("x[i] = c20000"))},
	{"constantsDouble", kernelOf("const c0 = 1\n"+repeat(60, func(i int) string { return fmt.Sprintf("const c%d = (c%d + c%d) %% 1000\n", i+1, i, i) }), overLoop("x[i] = c60"))},
	{"bigConstant", kernelOf("const c = 1 << 500 >> 490\n", overLoop("x[i] = c"))},
	{"packageVariables", kernelOf(repeat(3000, func(i int) string { return fmt.Sprintf("var v%d = %d\n", i, i) }), overLoop(repeat(3000, func(i int) string { return fmt.Sprintf("x[i] += v%d\n", i) })))},
	{"atomics", kernelOf("", overLoop(strings.Repeat("//omp:atomic\nx[0]++\n", 3000)))},
	{"reductions", kernelOf("", repeat(500, func(i int) string { return fmt.Sprintf("s%d := 0\n", i) })+"//omp:teams distribute parallel for reduction(+: "+strings.TrimSuffix(repeat(500, func(i int) string { return fmt.Sprintf("s%d,", i) }), ",")+")\nfor i := 0; i < n; i++ {\n"+repeat(500, func(i int) string { return fmt.Sprintf("s%d += x[i]\n", i) })+"}\n"+repeat(500, func(i int) string { return fmt.Sprintf("x[%d] = s%d\n", i, i) }))},
	{"parallels", kernelOf("", "//omp:teams distribute\nfor t := 0; t < n; t++ {\n"+strings.Repeat("//omp:parallel for\nfor i := 0; i < 8; i++ {\nx[t*8+i]++\n}\n", 500)+"}\n")},
	{"lets", "package p\n\n//omp:target\n//omp:task inout(x[0:l25])\n//omp:let l0 = n\n" + repeat(25, func(i int) string { return fmt.Sprintf("//omp:let l%d = l%d + l%d\n", i+1, i, i) }) + "func K(n int, x []int) {\n" + overLoop("x[i]++") + "\n}\n"},
	{"blocks", kernelOf("", overLoop(strings.Repeat("{\n", 1500)+"x[i] = 1\n"+strings.Repeat("}\n", 1500)))},
	{"generics", "package p\n\n" + repeat(12, func(i int) string {
		if i == 0 {
			return "func g0[A any](a A, x int) int { return x }\n"
		}
		return fmt.Sprintf("type P%d[A any] struct{ a A; n int }\nfunc g%d[A any](a A, x int) int { return g%d(P%d[A]{}, x) + g%d(a, x) }\n", i, i, i-1, i, i-1)
	}) + "//omp:target\n//omp:task inout(x)\nfunc K(n int, x []int) {\n" + overLoop("x[i] = g11(1, i)") + "\n}\n"},
	{"casesOfStrings", kernelOf("", overLoop("switch {\n"+repeat(3000, func(i int) string { return fmt.Sprintf("case x[i] > %d && n < %d: x[i]++\n", i, i) })+"}"))},
	{"fallthroughs", kernelOf("", overLoop("switch x[i] {\n"+repeat(1000, func(i int) string { return fmt.Sprintf("case %d: x[i] += %d\nfallthrough\n", i, i) })+"default:\n}"))},
	{"labels", kernelOf("", overLoop(repeat(60, func(i int) string {
		return fmt.Sprintf("L%d:\nfor j%d := 0; j%d < n; j%d++ {\nif x[i] == %d { continue L%d }\nif x[i] > %d { break L%d }\n", i, i, i, i, i, i/2, i, i/3)
	})+"x[i] = 1\n"+strings.Repeat("}\n", 60)))},
	{"returns", kernelOf("", overLoop("f := func(v int) int {\n"+repeat(2000, func(i int) string { return fmt.Sprintf("if v == %d { return %d }\n", i, i*3) })+"return 1\n}\nx[i] = f(x[i])"))},
	{"continues", kernelOf("", overLoop(repeat(2000, func(i int) string { return fmt.Sprintf("if x[i] == %d { continue }\nx[i]++\n", i) })))},
	{"longLine", kernelOf("// "+strings.Repeat("a", 1<<22)+"\n", overLoop("x[i]++"))},
	{"stores", kernelOf("", overLoop(repeat(3000, func(i int) string { return fmt.Sprintf("x[i+%d] = x[i*%d]\n", i, i%7) })))},
	{"tuples", kernelOf("", "var "+strings.TrimSuffix(repeat(500, func(i int) string { return fmt.Sprintf("v%d,", i) }), ",")+" int\n"+overLoop(strings.TrimSuffix(repeat(500, func(i int) string { return fmt.Sprintf("v%d,", i) }), ",")+" := "+strings.TrimSuffix(repeat(500, func(i int) string { return fmt.Sprintf("x[%d],", i) }), ",")+"\n"+repeat(500, func(i int) string { return fmt.Sprintf("x[i] += v%d\n", i) })))},
}

// A source that would take a compiler too long, or too much memory, is refused with its size and the limit (issue 16, point g).
func TestSize_LimitsAreSaid(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"doubling": "statements, and a kernel has at most", "types": "", "regions": "regions here and above, at most",
		"regionsLines": "regions here and above, at most", "statements": "statements, and a kernel has at most", "sum": "levels, at most",
	} {
		t.Run(name, func(t *testing.T) {
			files := []codegen.File{{Name: "k.go", Text: largeSource(t, name)}}
			_, sources := codegen.SourcesFor("k.go", files, nil)
			_, err := codegen.Load(files...)
			require.Error(t, err)
			require.ErrorContains(t, err, want)
			require.Regexp(t, `^k\.go:\d+:\d+: `, err.Error())
			if name == "statements" {
				require.ErrorContains(t, sources, want) // before go/types looks at them: that took longer than all else
				_, beside := codegen.SourcesFor("small.go", append(files, codegen.File{Name: "small.go", Text: "package p\n\n//omp:target\nfunc Small(n int, x []int) { x[0] = n }\n"}), nil)
				require.NoError(t, beside)
			}
			if sources != nil {
				require.Regexp(t, `^k\.go:\d+:\d+: `, sources.Error())
			}
		})
	}
}

// doubling declares structs T0 to Tn of two of the one before.
func doubling(n int, fields string) string {
	return "type T0 struct{ a int }\n" + repeat(n, func(i int) string { return fmt.Sprintf("type T%d struct{ %s T%d }\n", i+1, fields, i) })
}

// nestedArrays declares arrays T0 to T29 of two of the one before.
var nestedArrays = "type T0 [2]int\n" + repeat(29, func(i int) string { return fmt.Sprintf("type T%d [2]T%d\n", i+1, i) })

// TestSize_TypesAreBounded: types that double at every level took go/types, or the compiler of vector code, for ever, where a name in a function
// hid their size, or generic types or those of another package did; long chains of names took quadratic time (issue 16, point g).
func TestSize_TypesAreBounded(t *testing.T) {
	hidden := doubling(30, "a, b") + "func h() {\ntype T10 struct{ a int }\ntype T20 struct{ a int }\n}\n"
	const parts, fits = ": with the fields of its fields, and so on, it has ", ""
	for _, c := range []struct {
		name, text, other, want string
	}{
		{"names in functions", kernelOf(hidden, overLoop("var t T30\nx[i] = len(x)\n_ = t")), "", parts},
		{"unused names in functions", kernelOf(hidden, overLoop("x[i] = 1")), "", parts},
		{"generic types", kernelOf("type P[A any] struct{ a, b A }\n", overLoop("var t "+strings.Repeat("P[", 30)+"int"+strings.Repeat("]", 30)+"\nx[i] = t"+strings.Repeat(".a", 30))), "", parts},
		{"named generic types", kernelOf("type P[A any] struct{ a, b A }\ntype T0 int\n"+repeat(29, func(i int) string { return fmt.Sprintf("type T%d P[T%d]\n", i+1, i) }), overLoop("var t T29\nx[i] = 1\n_ = t")), "", parts},
		{"another package", "package p\n\nimport \"m/q\"\n\n//omp:target\n//omp:task inout(x)\nfunc K(n int, x []int) {\n" + overLoop("var t q.T30\nx[i] = t.A.A.A.A.A.A") + "\n}\n", "package q\n\n" + doubling(30, "A, B"), parts},
		{"of another package", "package p\n\nimport \"m/q\"\n\ntype U struct{ a, b q.T12 }\n\n//omp:target\n//omp:task inout(x)\nfunc K(n int, x []int) {\n" + overLoop("x[i] = 1") + "\n}\n", "package q\n\n" + doubling(12, "A, B"), "k.go:5:6: type U" + parts},
		{"chain of arrays", kernelOf("type T0 [2]int\n"+repeat(20000, func(i int) string { return fmt.Sprintf("type T%d [1]T%d\n", i+1, i) }), overLoop("x[i] = 1")), "", "type T500: it is behind 501 names of types, at most 500; name fewer types"},
		{"chain of names", kernelOf(repeat(20000, func(i int) string { return fmt.Sprintf("type T%d T%d\n", i, i+1) })+"type T20000 int\n", overLoop("x[i] = 1")), "", "names of types, at most 500; name fewer types"},
		{"chain of pointers", kernelOf("type T0 [2]int\n"+repeat(400, func(i int) string { return fmt.Sprintf("type T%d *T%d\n", i+1, i) }), overLoop("var t T400\nx[i] = 1\n_ = t")), "", "type T400: type T368: type *T367: it is nested too deeply; name fewer types"},
		{"nested arrays", kernelOf("type T0 [1]int\n"+repeat(60, func(i int) string { return fmt.Sprintf("type T%d [1]T%d\n", i+1, i) }), overLoop("var t T60\nx[i] = t"+strings.Repeat("[0]", 61))), "", "type T60: type T28: type [1]T27: it is nested too deeply; name fewer types"},
		{"arrays beyond 1 TiB", kernelOf("type T0 [2]int\n"+repeat(50, func(i int) string { return fmt.Sprintf("type T%d [4]T%d\n", i+1, i) }), overLoop("var t *T30\nx[i] = 1\n_ = t")), "", "type T30: type T19: type [4]T18: a value of it is larger than 1 TiB; make it smaller"},
		{"slices of arrays", "package p\n\n" + nestedArrays + "//omp:target\n//omp:task inout(x)\nfunc K(n int, x []T29) {\n" + overLoop("x[i]"+strings.Repeat("[0]", 30)+" = 1") + "\n}\n", "", fits},
		{"pointers to arrays", "package p\n\n" + nestedArrays + "//omp:target\n//omp:task inout(*x)\nfunc K(n int, x *T29) {\n" + overLoop("x"+strings.Repeat("[0]", 29)+"[i] = 1") + "\n}\n", "", fits},
		{"fields of large arrays", "package p\n\ntype T struct{ a, b [1 << 27]int32 }\n\n//omp:target\n//omp:task inout(x)\nfunc K(n int, x []T) {\n" + overLoop("x[i].a[0], x[i].a[1], x[i].b[99], x[i].b[98] = 1, 2, x[i].b[98], x[i].b[99]") + "\n}\n", "", fits},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := []codegen.File{{Name: "k.go", Text: c.text}}
			if c.other != "" {
				files = append(files, codegen.File{Name: "q/q.go", Package: "m/q", Text: c.other})
			}
			done := make(chan error, 1)
			go func() { done <- compileAll(files) }()
			select {
			case err := <-done:
				if c.want == fits {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, c.want)
				require.NotContains(t, err.Error(), "\n", "one error")
				require.Less(t, strings.Count(err.Error(), ": type "), 4, "without the types between: %v", err)
			case <-time.After(20 * time.Second):
				t.Fatal("it takes for ever")
			}
		})
	}
}

// compileAll compiles the first kernel of files for every target; code that a target has no form for is none.
func compileAll(files []codegen.File) error {
	p, err := codegen.Load(files...)
	if err != nil {
		return err
	}
	l, err := codegen.Lower(p.Kernels()[0], codegen.LowerOptions{})
	if err != nil {
		return err
	}
	if _, err = cuda.Print(l.Program, cuda.Options{}); err != nil {
		return err
	}
	_, _ = cpu.Compile(p.Kernels()[0], cpu.Options{})
	return nil
}

// Sources of the size that a program generator writes are compiled for every target in a time that grows with their length.
func TestSize_LargeKernelsCompile(t *testing.T) {
	for _, name := range []string{"cases900", "statements9900"} {
		t.Run(name, func(t *testing.T) {
			p, err := codegen.Load(codegen.File{Name: "k.go", Text: largeSource(t, name)})
			require.NoError(t, err)
			l, err := codegen.Lower(p.Kernels()[0], codegen.LowerOptions{})
			require.NoError(t, err)
			_, err = cuda.Print(l.Program, cuda.Options{})
			require.NoError(t, err)
		})
	}
}

func largeSource(t *testing.T, name string) string {
	for _, s := range largeSources {
		if s.name == name {
			return s.text
		}
	}
	t.Fatalf("no source %s", name)
	return ""
}

// What took time in the square or the cube of its size is done in a small part of the limit, which it exceeded.
func TestSize_TimeIsLinear(t *testing.T) {
	const limit = 4 * time.Second
	names := repeat(400, func(i int) string { return fmt.Sprintf("p%d, ", i) })
	for _, c := range []struct {
		name, text string
		compile    func(p *codegen.Package) error
	}{
		{"ifs", kernelOf("", overLoop(repeat(2000, func(i int) string { return fmt.Sprintf("if x[i] > %d { x[i] -= 2 }\n", i) }))), nil},
		{"loops", kernelOf("", overLoop(repeat(2000, func(i int) string { return fmt.Sprintf("for j := 0; j < %d; j++ { x[i] += j }\n", i+3) }))), nil},
		{"shadowed", kernelOf("", overLoop("s := x[i]\n"+repeat(900, func(int) string { return "{ s := s + 1\n" })+"x[i] = s\n"+strings.Repeat("}", 900))), nil},
		{"slices", "package p\n\n//omp:target\n//omp:task inout(" + strings.TrimSuffix(names, ", ") + ")\nfunc K(n int, " + names + "q []int) {\n" + overLoop(repeat(400, func(i int) string { return fmt.Sprintf("p%d[i]++\n", i) })) + "\n}\n", func(p *codegen.Package) error {
			codegen.NewOverlaps(p.Kernels()[0])
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			p, err := codegen.Load(codegen.File{Name: "k.go", Text: c.text})
			require.NoError(t, err)
			if c.compile != nil {
				require.NoError(t, c.compile(p))
			}
			require.Less(t, time.Since(start), limit)
		})
	}
}

// TestSize_Exchanges: copies of loops that exchange slices, and of what follows them, are bounded
// where loops stand behind or in each other.
func TestSize_Exchanges(t *testing.T) {
	t.Parallel()
	count := func(body string) (n int) {
		k := loadText(t, "package p\n\n//omp:target\n//omp:task inout(x, y)\nfunc K(n int, x, y []int) {\na, b := x, y\n"+body+"}\n")
		ir.WalkStmts(k.Body, func(ir.Stmt) bool { n++; return true })
		return n
	}
	const head = "for k := 0; k < n; k++ {\na[k] = b[k] + 1\n"
	behind, in := strings.Repeat(head+"a, b = b, a\n}\n", 60), ""
	for range 14 {
		in = head + "{\na, b := a, b\n" + in + "a[k], b[k] = b[k], a[k]\n}\na, b = b, a\n}\n"
	}
	require.Greater(t, count(behind), 4000, "none is copied")
	require.Less(t, count(behind), 7000)
	require.Less(t, count(in), 7000)
}

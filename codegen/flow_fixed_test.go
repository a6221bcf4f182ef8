//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// likeGo runs kernel K as Go, interpreted for a GPU and as vector code between fences, and asks for the same.
func likeGo(t *testing.T, text string, list ...[]any) {
	t.Helper()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	f := newFlowRunner(t)
	defer f.close()
	require.NoError(t, f.compare(flowKernel{text: text}, rand.New(rand.NewPCG(1, 2)), list), text)
	require.Equal(t, len(list), f.count["launches"], "some launch has no end: %v", f.count)
	require.Positive(t, f.count["vector code"], f.count)
	require.Positive(t, f.count["device code"], f.count)
}

func numbersTo[T any](n int, of func(i int) T) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = of(i)
	}
	return x
}

// TestUniformBreak_KeepsLanesOff (issue 16 a): where a loop that all lanes leave together stands in one that they leave one by one, the masks
// behind it were those of a place that the jump had not come by: stores were lost, or lanes that had left ran on.
func TestUniformBreak_KeepsLanesOff(t *testing.T) {
	loop := "for j := int64(0); j < k&15; j++ {\n\t\t\tif %s {\n\t\t\t\t%s\n\t\t\t}\n\t\t\tp++\n\t\t}\n"
	leave := "if i&1 == 0 {\n\t\t\tcontinue\n\t\t}\n"
	for name, body := range map[string]string{
		"continue before":  leave + fmt.Sprintf(loop, "j&1 == 0", "break"),
		"continue behind":  fmt.Sprintf(loop, "j&1 == 0", "break") + leave,
		"both":             leave + fmt.Sprintf(loop, "j > 1", "break") + "if x[i] > 3 {\n\t\t\tcontinue\n\t\t}\n",
		"uniform continue": leave + fmt.Sprintf(loop, "j&1 == 0", "continue"),
		"loop around":      "for l := 0; l < 3; l++ {\n\t\t\tif int64(l) > x[i] {\n\t\t\t\tbreak\n\t\t\t}\n" + fmt.Sprintf(loop, "j&1 == 0", "break") + "p += 100\n\t\t}\n",
		"label":            "out:\n\t\tfor l := 0; l < 3; l++ {\n\t\t\tif int64(l) > x[i] {\n\t\t\t\tcontinue\n\t\t\t}\n" + fmt.Sprintf(loop, "j == 1", "continue out") + "p += 100\n\t\t}\n",
		"switch":           leave + "switch k & 3 {\n\t\tcase 1:\n\t\t\tif m > 0 {\n\t\t\t\tbreak\n\t\t\t}\n\t\t\tp += 5\n\t\tdefault:\n\t\t\tp += 9\n\t\t}\n",
		"while":            leave + "for p < 40 {\n\t\t\tif m > 0 {\n\t\t\t\tbreak\n\t\t\t}\n\t\t\tp += 11\n\t\t}\n",
		"function":         leave + "p += first(k, m)\n\t\tif x[i] == 5 {\n\t\t\tcontinue\n\t\t}\n\t\tp += first(m, x[i])\n",
	} {
		t.Run(name, func(t *testing.T) {
			text := "func first(k, m int64) int64 {\n\ts := int64(0)\n\tfor j := int64(0); j < k&15; j++ {\n\t\tif j > m {\n\t\t\treturn s\n\t\t}\n\t\ts += 7\n\t}\n\treturn s + 1\n}\n\n" +
				"//omp:target device(acc, smp)\n//omp:task in(x) inout(o, f)\nfunc K(k, m int64, x, o []int64, f []float32) {\n" +
				"\t//omp:teams distribute parallel for\n\tfor i := range o {\n\t\tp := x[i]\n\t\t" + body + "\t\to[i] += p\n\t\tf[i] += 7\n\t}\n}\n"
			var list [][]any
			for _, k := range []int64{0, 1, 3, 9} {
				for _, m := range []int64{0, 1, 4} {
					list = append(list, []any{k, m, numbersTo(77, func(i int) int64 { return int64(i % 7) }), make([]int64, 77), make([]float32, 77)})
				}
			}
			likeGo(t, text, list...)
		})
	}
}

// TestLoopsOfSeveralTypes_AreCheckedApart (issue 16 b): checks out of line were selected with the lanes of the loop that came last.
func TestLoopsOfSeveralTypes_AreCheckedApart(t *testing.T) {
	t.Parallel()
	edge := "\t\t//omp:parallel for\n\t\tfor c := 0; c < n; c++ {\n\t\t\tp := r*n + c\n\t\t\tif c < n-1 {\n\t\t\t\t%s[p] = %s[p+1]\n\t\t\t}\n\t\t}\n"
	rest := "\t\t//omp:parallel for\n\t\tfor c := 0; c < n; c++ {\n\t\t\t%s[r*n+c]++\n\t\t}\n"
	outputs, inputs := []string{"b", "y", "z", "v"}, []string{"a", "x", "u", "w"}
	for i := range outputs {
		for j := range outputs {
			text := "//omp:target device(acc, smp)\n//omp:task in(a, x, u, w) inout(b, y, z, v)\nfunc K(n int, a, b []float64, x, y []float32, u, z []int64, w, v []int16) {\n" +
				"\t//omp:teams distribute\n\tfor r := 0; r < n; r++ {\n" + fmt.Sprintf(edge, outputs[i], inputs[i]) + fmt.Sprintf(edge, outputs[j], inputs[j]) + fmt.Sprintf(rest, outputs[j]) + "\t}\n}\n"
			var list [][]any
			for _, n := range []int{1, 3, 4, 5, 8, 15, 17, 32, 33, 64} {
				double, single := numbersTo(n*n, func(i int) float64 { return float64(i) }), numbersTo(n*n, func(i int) float32 { return float32(i) })
				long, short := numbersTo(n*n, func(i int) int64 { return int64(i) }), numbersTo(n*n, func(i int) int16 { return int16(i) })
				list = append(list, []any{n, double, make([]float64, n*n), single, make([]float32, n*n), long, make([]int64, n*n), short, make([]int16, n*n)})
			}
			likeGo(t, text, list...)
		}
	}
}

// TestShortCircuit_MakesNoAccess (issue 16 c): where the left side decides in every lane, the right side does not touch memory.
func TestShortCircuit_MakesNoAccess(t *testing.T) {
	t.Parallel()
	for _, cond := range []string{"x[i] > 5 || x[k-1] > 0", "x[i] < 5 && x[k-1] > 0", "x[i] < 5 && (x[i] > 99 || x[k-1] > 0)", "(x[i] < 5 && x[k-1] > 0) || x[i] == 7",
		"!(x[i] > 5 || x[k-1] > 0)", "x[i] < 5 && 10/(k-1) > x[i]", "x[i] < 5 && ix[k] >= 0 && x[ix[k]] > 0", "x[i] < 5 && max(x[k-1], 3) > 2", "x[i] > 5 || f[k-1] > 0.5", "x[i] > 5 || w[k-1]"} {
		for _, form := range []string{"if %s {\n\t\t\to[i] = 4\n\t\t}", "for l := 0; l < 3 && (%s); l++ {\n\t\t\to[i] += 4\n\t\t}", "switch {\n\t\tcase %s:\n\t\t\to[i] = 4\n\t\tdefault:\n\t\t\to[i] = 5\n\t\t}",
			"b := %s\n\t\tif b {\n\t\t\to[i]++\n\t\t}", "if x[i] == 3 {\n\t\t\tcontinue\n\t\t}\n\t\tif %s {\n\t\t\to[i] = 4\n\t\t}\n\t\to[i] += x[i]"} {
			text := "//omp:target device(acc, smp)\n//omp:task in(x, ix, f, w) inout(o)\nfunc K(k int64, x []int64, ix []int32, f []float32, w []bool, o []int64) {\n" +
				"\t//omp:teams distribute parallel for\n\tfor i := range o {\n\t\t" + fmt.Sprintf(form, cond) + "\n\t}\n}\n"
			var list [][]any
			for _, k := range []int64{0, 1, 2, 600, 1 << 40, math.MinInt64} {
				for _, low := range []int64{0, 6} { // 6: the left side decides everywhere
					list = append(list, []any{k, numbersTo(51, func(i int) int64 { return low + int64(i%9) }), []int32{2, 70}, make([]float32, 51), make([]bool, 51), make([]int64, 51)})
				}
			}
			likeGo(t, text, list...)
		}
	}
}

// TestCounter_WrapsAsGos (issue 16 d): a counter of few bits that steps over its bound goes on from the other end of its type.
func TestCounter_WrapsAsGos(t *testing.T) {
	type loop struct {
		kind, head string
		lo, hi     int
	}
	loops := []loop{
		{"uint8", "for i := lo; i < 250; i += 10", 128, 0}, {"uint8", "for i := lo; i <= 250; i += 10", 1, 0}, {"int8", "for i := lo; i < hi; i += 7", -100, 125},
		{"int8", "for i := lo; i > hi; i -= 9", 100, -123}, {"int8", "for i := lo; i >= -120; i -= 50", 3, 0}, {"uint8", "for i := lo; i != hi; i++", 200, 20},
		{"int8", "for i := lo; i != hi; i--", -20, 100}, {"uint8", "for i := lo; i < hi; i += 3", 250, 254}, {"uint8", "for i := lo; i < hi; i += 3", 254, 250},
		{"uint16", "for i := lo; i < hi; i += 9000", 7, 65000}, {"int16", "for i := lo; i <= hi; i += 20000", -30000, 32000}, {"uint32", "for i := lo; i < hi; i += 1<<30 + 12345677", 5, 1<<32 - 100_000_000},
		{"int32", "for i := lo; i < hi; i += 1000000007", -5, math.MaxInt32 - 300_000_000}, {"uint8", "for i := lo; hi >= i; i = i + 11", 2, 249},
		{"int64", "for i := lo; i < math1; i += 3", math.MaxInt64 - 10, 0}, {"uint64", "for i := lo; i < hi; i += 1 << 61", 5, math.MaxInt64},
		{"int64", "for i := lo; i < hi; i += 1<<61 + 1<<58 + 1", -5, math.MaxInt64 - 1<<60}, {"uint64", "for i := lo; i < hi; i += 1 << 61", 5, -1 << 62},
		{"uint8", "for i := lo; i <= hi; i += 128", 3, 130}, {"uint8", "for i := lo; i < hi; i += 200", 60, 100}, {"uint16", "for i := lo; i < hi; i += 32768", 2, 32769},
		{"uint8", "for i := lo; i < hi; i -= 1", 20, 100}, {"uint64", "for i := lo; i < hi; i += 1<<63 + 5", 1, math.MinInt64}, {"uint32", "for i := lo; i < hi; i += 1<<32 - 3", 50, 100},
	}
	for _, l := range loops {
		for _, parallel := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %s from %d, parallel %v", l.kind, l.head, l.lo, parallel), func(t *testing.T) {
				head := "//omp:target device(acc, smp)\n//omp:task in(x) inout(o)\nfunc K(lo, hi " + l.kind + ", x []int64, o []int64) {\n\tconst math1 = 1<<63 - 2\n\t_ = math1\n"
				body := "\t//omp:teams distribute parallel for\n\tfor q := range o {\n\t\tn := int64(0)\n\t\t" + l.head + " {\n\t\t\to[q] = o[q]*31 + int64(i) + x[q]\n\t\t\tif n++; n > 60 {\n\t\t\t\tbreak\n\t\t\t}\n\t\t}\n\t}\n"
				if parallel {
					body = "\tvar n, sum int64\n\t//omp:teams distribute parallel for reduction(+: n, sum)\n\t" + l.head + " {\n\t\tn++\n\t\tsum += int64(i) * int64(i)\n\t\to[uint8(i)&255]++\n\t}\n\to[0], o[1] = n, sum\n"
					if l.kind != "uint8" && l.kind != "int8" {
						body = "\tvar n, sum int64\n\t//omp:teams distribute parallel for reduction(+: n, sum)\n\t" + l.head + " {\n\t\tn++\n\t\tsum += int64(i) * int64(i)\n\t}\n\to[0], o[1] = n, sum\n"
					}
				}
				of := func(v int) any { return fromBits(wrapTo(uint64(v), kindNamed(l.kind)), kindNamed(l.kind)).Interface() }
				likeGo(t, head+body+"}\n", []any{of(l.lo), of(l.hi), numbersTo(256, func(i int) int64 { return int64(i) }), make([]int64, 256)})
			})
		}
	}
}

// TestUniformJump_BehindALeave: where all lanes had left a loop, a jump that all lanes make together was made behind it all the same.
func TestUniformJump_BehindALeave(t *testing.T) {
	for _, leave := range []string{"break L8", "if ia[i] >= 0 {\n\t\t\t\t\t\t\tbreak L8\n\t\t\t\t\t\t}", "if q&3 != 7 {\n\t\t\t\t\t\t\tcontinue L8\n\t\t\t\t\t\t}"} {
		for _, jump := range []string{"continue L4", "break L4", "break L5"} {
			text := `//omp:target device(acc, smp)
func K(k int64, ia, w []int64, so []int16) {
	for i := range so {
		p, q := ia[i], ia[i+1]
		if q >= 1 {
			for j1 := range int(k & 3) {
			L4:
				for j3 := int64(0); j3 < w[1]&7; j3++ {
					so[i] = int16(q)
				L5:
					for j5 := int64(0); j5 < 3; j5++ {
					L8:
						for j7 := int64(0); j7 < w[0]&3; j7++ {
							q += p
							` + leave + `
							if (j7+int64(j1))&1 == 1 {
								` + jump + `
							}
							if j7 > 9 {
								continue L4
							}
							if j7 > 8 {
								break L5
							}
						}
					}
				}
			}
			continue
		}
		so[i] = 1
	}
}
`
			likeGo(t, text, []any{int64(3), numbersTo(41, func(i int) int64 { return int64(i*i*7919 + 13) }), []int64{3, 4}, make([]int16, 40)},
				[]any{int64(3), numbersTo(41, func(i int) int64 { return int64(i%5) - 1 }), []int64{2, 3}, make([]int16, 40)})
		}
	}
}

// TestUniformJump_LeavesSharedVariables: what stands behind a jump that all lanes take did not run, but a variable with one value for all
// lanes changed all the same where the loop counted as one that lanes leave one by one, because another loop in it is.
func TestUniformJump_LeavesSharedVariables(t *testing.T) {
	for _, jump := range []string{"continue", "break", "if k > 0 {\n\t\t\t\t\tcontinue\n\t\t\t\t}"} {
		text := `//omp:target device(acc, smp)
//omp:task in(a, x) inout(f, o)
func K(n int, k int64, s float32, a []int8, x []int64, f []float32, o []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		u, v, w, b := s, s, k, false
		q := a[i]
		for j := int64(0); j < x[1]&7; j++ {
			f[i] += u * v
			if b {
				o[i] += w
			}
			switch k & 3 {
			case 0, 3:
				` + jump + `
				u, v, w, b = v, u+s, w+1, !b
			case 2:
				for l := int64(0); l < int64(a[n-1-i])*3&7; l += 2 {
					q++
				}
			}
		}
		o[i] += int64(q) + w
	}
}
`
		var list [][]any
		for _, n := range []int{1, 6, 40, 77} {
			for k := int64(0); k < 4; k++ {
				list = append(list, []any{n, k, float32(1.75), numbersTo(80, func(i int) int8 { return int8(i) }),
					numbersTo(8, func(int) int64 { return 3 }), make([]float32, 80), make([]int64, 80)})
			}
		}
		likeGo(t, text, list...)
	}
}

// TestTriangularStart_WithStep: an inner loop that steps by two passes other elements in each iteration of the outer
// one only where it begins at the same element. Here it begins at i, so i + j is 2 in two iterations.
func TestTriangularStart_WithStep(t *testing.T) {
	for _, head := range []string{
		"for i := 0; i < 2; i++ {\n\t\tfor j := 1 + i; j < n; j += 2 {\n",
		"for i := 0; i < 2; i++ {\n\t\tlo := 1 + i\n\t\tfor j := lo; j < n; j += 2 {\n",
		"for i := 0; i < 2; i++ {\n\t\tfor j := n - i; j > 0; j -= 2 {\n",
		"for i := 0; i < 2; i++ {\n\t\tfor j := max(1+i, q); j < n; j += 2 {\n",
		"//omp:loop\n\tfor i := 0; i < 2; i++ {\n\t\t//omp:loop\n\t\tfor j := q + i; j < n; j += 3 {\n",
	} {
		text := "//omp:target device(acc, smp)\n//omp:task inout(c)\nfunc K(n, q int, c []int64) {\n\t" + head + "\t\t\tc[i + j] += c[i+j] + int64(j)\n\t\t}\n\t}\n}\n"
		var list [][]any
		for n := range 9 {
			list = append(list, []any{n, 1, numbersTo(40, func(i int) int64 { return int64(i) })})
		}
		likeGo(t, text, list...)
	}
}

// TestRangesThatMove_WithSteps: an inner loop of which the range moves with the outer one, by a step that is not 1,
// accesses what an iteration before wrote.
func TestRangesThatMove_WithSteps(t *testing.T) {
	for _, c := range []struct{ head, at, from string }{
		{"for i := 1; i < n; i++ {\n\t\tfor j := i; j < i+1; j += 3 {\n", "i+j", "i+j-2"},
		{"//omp:loop\n\tfor i := 1; i < n; i++ {\n\t\tfor j := i; j < i+1; j += 3 {\n", "i+j", "i+j-2"},
		{"//omp:loop\n\tfor i := 1; i < n; i++ {\n\t\tfor j := i + q - 1; j >= i; j -= 3 {\n", "i+j", "i+j-2"},
		{"//omp:loop\n\tfor i := 1; i < n; i += 2 {\n\t\tfor j := 3 * i; j < 3*i+6; j += 3 {\n", "20*i+j", "20*i+j-46"},
		{"//omp:loop\n\tfor i := 1; i < n; i++ {\n\t\tfor j := i; j < i+6; j += 3 {\n", "20*i+j", "20*i+j-18"},
		{"//omp:loop\n\tfor i := 1; i < n; i++ {\n\t\tlo := i + q\n\t\tfor j := lo; j < lo+6; j += 3 {\n", "20*i+j", "20*i+j-18"},
		{"//omp:loop\n\tfor i := 1; i < n; i++ {\n\t\tfor g := i; g < i+3; g++ {\n\t\t\tfor j := g & 1; j < 4; j += 2 {\n", "20*i+g+j", "20*i+g+j-22"},
	} {
		text := "//omp:target device(acc, smp)\n//omp:task inout(c, d)\nfunc K(n, q int, c, d []int64) {\n\t" + c.head + "\t\t\tc[100 + " + c.at + "] += 3*c[100 + " + c.from + "] + int64(j)\n" +
			strings.Repeat("\t}\n", strings.Count(c.head, "{\n")) + "\t//omp:loop\n\tfor i := range d {\n\t\td[i]++\n\t}\n}\n"
		var list [][]any
		for n := range 9 {
			list = append(list, []any{n, 1, numbersTo(400, func(i int) int64 { return int64(i) }), make([]int64, 9)})
		}
		likeGo(t, text, list...)
	}
}

// TestCounter_NearTheEnds: loops of which the bounds lie near the ends of 64 bits, or in the wrong
// order, had other iterations than in Go.
func TestCounter_NearTheEnds(t *testing.T) {
	const most = math.MaxInt64
	signed, unsigned := [][2]uint64{}, [][2]uint64{}
	for _, n := range []uint64{0, 1, 17, 40} {
		signed = append(signed, [2]uint64{most - n, most}, [2]uint64{1 << 63, 1<<63 + n}, [2]uint64{-n, n}, [2]uint64{5, 5 + n})
		unsigned = append(unsigned, [2]uint64{most - n, most}, [2]uint64{1 << 63, 1<<63 + n}, [2]uint64{1<<63 - n, 1<<63 + n}, [2]uint64{-n - 1, math.MaxUint64}, [2]uint64{5, 5 + n})
	}
	signed = append(signed, [2]uint64{most, 1 << 63}, [2]uint64{most, math.MaxUint64 - 4}, [2]uint64{3, 1 << 63}) // none
	unsigned = append(unsigned, [2]uint64{1<<63 + 5, 3}, [2]uint64{math.MaxUint64, 0}, [2]uint64{9, 3})
	for _, directive := range []string{"teams distribute parallel for", "parallel for", "simd", "teams distribute parallel for collapse(2)", "teams distribute parallel for reduction(+: n)"} {
		for _, kind := range []string{"int", "uint64"} {
			for _, down := range []bool{false, true} {
				if down && kind == "uint64" {
					continue // is refused
				}
				head, at := "for i := lo; i < hi; i++", "i-lo"
				if down {
					head, at = "for i := hi; i > lo; i--", "hi-i"
				}
				body := "o[" + at + "] += x[" + at + "]\n"
				if strings.Contains(directive, "collapse") {
					body = "for k := 0; k < 3; k++ {\no[3*(" + at + ")+" + kind + "(k)]++\n}\n"
				}
				if strings.Contains(directive, "reduction") {
					body = "n++\n"
				}
				text := "//omp:target device(acc, smp)\n//omp:task in(x) inout(o)\nfunc K(lo, hi " + kind + ", x []int64, o []int64) {\nn := int64(0)\n_ = n\n//omp:" + directive + "\n" +
					head + " {\n" + body + "}\no[0] += n\n}\n"
				var list [][]any
				for _, b := range map[string][][2]uint64{"int": signed, "uint64": unsigned}[kind] {
					bounds := []any{int(b[0]), int(b[1])}
					if kind == "uint64" {
						bounds = []any{b[0], b[1]}
					}
					list = append(list, append(bounds, numbersTo(300, func(i int) int64 { return int64(i) }), make([]int64, 300)))
				}
				t.Run(fmt.Sprintf("%s, %s, down %t", directive, kind, down), func(t *testing.T) { likeGo(t, text, list...) })
			}
		}
	}
}

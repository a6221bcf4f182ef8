package codegen_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// foundScans are loops without a scan directive, as text and as Go; scan says whether the compiler makes a scan of it.
var foundScans = []struct {
	name, head, text string
	scan             bool
	run              func(x, y []int32) int32
}{
	{"inclusive", "", "for i := range x {\ns += x[i]\ny[i] = s\n}", true, func(x, y []int32) int32 {
		s := int32(3)
		for i := range x {
			s += x[i]
			y[i] = s
		}
		return s
	}},
	{"inclusive under loop, through a local", "//omp:loop", "for i := range x {\ns ^= x[i]\nt := s\ny[i] = t\n}", true, func(x, y []int32) int32 {
		s := int32(3)
		for i := range x {
			s ^= x[i]
			y[i] = s
		}
		return s
	}},
	{"exclusive", "", "for i := range x {\ny[i] = s\ns += x[i]\n}", true, func(x, y []int32) int32 {
		s := int32(3)
		for i := range x {
			y[i] = s
			s += x[i]
		}
		return s
	}},
	{"exclusive, conditional", "//omp:loop", "for i := range x {\nif i > 2 {\ny[i] = s\n}\nif x[i]&1 == 0 {\ns++\n}\n}", true, func(x, y []int32) int32 {
		s := int32(3)
		for i := range x {
			if i > 2 {
				y[i] = s
			}
			if x[i]&1 == 0 {
				s++
			}
		}
		return s
	}},
	{"in place", "", "for i := range x {\nif x[i] > s {\ns = x[i]\n}\nx[i] = s\n}", true, func(x, y []int32) int32 {
		s := int32(3)
		for i := range x {
			s = max(s, x[i])
			x[i] = s
		}
		return s
	}},
	{"of two", "", "k := int32(1)\nfor i := range x {\ns += x[i]\nk *= x[i] | 1\ny[i] = s ^ k\n}\ns += k", true, func(x, y []int32) int32 {
		s, k := int32(3), int32(1)
		for i := range x {
			s += x[i]
			k *= x[i] | 1
			y[i] = s ^ k
		}
		return s + k
	}},
	{"read in between", "", "for i := range x {\ns += x[i]\ny[i] = s\ns++\n}", false, func(x, y []int32) int32 {
		s := int32(3)
		for i := range x {
			s += x[i]
			y[i] = s
			s++
		}
		return s
	}},
	{"by its own value", "", "for i := range x {\ns = s*3 + x[i]\ny[i] = s\n}", false, func(x, y []int32) int32 {
		s := int32(3)
		for i := range x {
			s = s*3 + x[i]
			y[i] = s
		}
		return s
	}},
	{"through memory", "", "for i := range x {\nif i > 0 {\ns += y[i-1]\n}\ny[i] = s\n}", false, func(x, y []int32) int32 {
		s := int32(3)
		for i := range x {
			if i > 0 {
				s += y[i-1]
			}
			y[i] = s
		}
		return s
	}},
	{"left early", "", "for i := range x {\ns += x[i]\nif s > 900 {\nbreak\n}\ny[i] = s\n}", false, func(x, y []int32) int32 {
		s := int32(3)
		for i := range x {
			s += x[i]
			if s > 900 {
				break
			}
			y[i] = s
		}
		return s
	}},
	{"skipping", "", "for i := range x {\nif x[i] < 5 {\ncontinue\n}\ns += x[i]\ny[i] = s\n}", false, func(x, y []int32) int32 {
		s := int32(3)
		for i := range x {
			if x[i] < 5 {
				continue
			}
			s += x[i]
			y[i] = s
		}
		return s
	}},
}

// A running sum in a loop that is independent otherwise is a scan, with the results of Go, also where the two slices are
// one or overlap; every other loop runs in order.
func TestScan_RunningSumsAreFound(t *testing.T) {
	for _, c := range foundScans {
		t.Run(c.name, func(t *testing.T) {
			text := "package k\n\n//omp:target device(acc)\n//omp:task inout(x, y, out)\nfunc K(x, y, out []int32) {\ns := int32(3)\n" + c.head + "\n" + c.text + "\nout[0] = s\n}\n"
			p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
			require.NoError(t, err)
			l, err := codegen.Lower(p.Kernels()[0], codegen.LowerOptions{})
			require.NoError(t, err)
			require.Equal(t, c.scan, slices.ContainsFunc(l.Decisions, func(d codegen.Decision) bool { return d.Where == "a scan" }), l.Explain())
			program, err := simt.New(l.Program)
			require.NoError(t, err)
			for i, n := range []int{0, 1, 33, 1000, 9000} {
				for _, shift := range []int{-1, 0, 1, 2 * n} { // y begins so many elements behind x
					memory := ints[int32](rand.New(rand.NewPCG(uint64(n), 1)), 3*n+2, 50)
					want := slices.Clone(memory)
					views := func(m []int32) (x, y []int32) { return m[1 : 1+n : 1+n], m[1+shift : 1+shift+n : 1+shift+n] }
					out := []int32{0}
					last := c.run(views(want))
					m, size := deviceArg(0, memory).Memory, int64(n)
					s := shapes[(i+n)%len(shapes)]
					_, err := program.Run([]simt.Arg{{Memory: m, Offset: 4, Len: size, Cap: size}, {Memory: m, Offset: 4 * int64(1+shift), Len: size, Cap: size}, deviceArg(2, out)},
						simt.Config{Teams: s.teams, Threads: s.threads, Races: n < 5000})
					require.NoError(t, err)
					require.Equal(t, want, memory, "%d elements, y %d behind x, %+v", n, shift, s)
					require.Equal(t, last, out[0])
				}
			}
		})
	}
}

// Floats are a scan only where the kernel allows it, and explain says what to write.
func TestScan_FloatsStayInOrder(t *testing.T) {
	const text = "//omp:target device(acc)\n//omp:task in(x) inout(y)\nfunc K(x, y []float64) {\ns := 1.0\nfor i := range x {\ns += x[i]\ny[i] = s\n}\n}"
	l, err := lowerText(t, text, codegen.LowerOptions{})
	require.NoError(t, err)
	require.Contains(t, l.Explain(), "the running sum s is of floats, whose order shows; to change it: reduction(inscan, +: s) with //omp:scan, or fastmath")
	require.NotContains(t, l.Explain(), "a scan:")
	l, err = lowerText(t, "//omp:target device(acc) fastmath\n"+text[len("//omp:target device(acc)\n"):], codegen.LowerOptions{})
	require.NoError(t, err)
	require.Contains(t, l.Explain(), "a scan:")
}

// An exclusive scan whose input phase reads x behind the store to y runs in order where x and y are one.
func TestScan_ExclusiveOfOneSlice(t *testing.T) {
	for _, form := range []string{"teams distribute parallel for", "parallel for", "simd", "loop"} {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x, y)\nfunc K(x, y []int64) {\ns := int64(1)\n//omp:"+form+" reduction(inscan, +: s)\nfor i := range x {\n"+
			"y[i] = s\n//omp:scan exclusive(s)\ns += x[i]\n}\n}", codegen.LowerOptions{})
		require.NoError(t, err)
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		x, y := make([]int64, 40), make([]int64, 40)
		both := deviceArg(0, x)
		_, err = program.Run([]simt.Arg{both, both}, simt.Config{Teams: 2, Threads: 64})
		require.NoError(t, err)
		require.Equal(t, int64(1)<<39, x[39])
		x[0] = 5
		require.NoError(t, runDevice(program, []any{x[:3], y[:3]}, simt.Config{Teams: 2, Threads: 64}))
		require.Equal(t, []int64{1, 6, 8}, y[:3])
	}
}

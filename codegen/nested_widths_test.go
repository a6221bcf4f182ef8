package codegen_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/verify"
	"github.com/gompss/gompss/codegen/simt"
	"github.com/gompss/gompss/codegen/target"
)

// widthCases are all kernels with nested loops.
func widthCases(t *testing.T) (*codegen.Package, []corpusCase) {
	p, err := codegen.Load(codegen.File{Name: "nested_kernels_test.go", Text: nestedKernelsSource})
	require.NoError(t, err)
	return p, append(append([]corpusCase{}, nestedCases...), plainCases...)
}

// Every number of lanes leaves what the Go function leaves, and the bits of the form that the
// compiler chooses by itself: which of them runs may follow from earlier launches.
func TestNestedWidths_LeaveTheSameBits(t *testing.T) {
	p, cases := widthCases(t)
	for _, c := range cases {
		t.Run(name(c.kernel), func(t *testing.T) {
			t.Parallel()
			k, err := p.Kernel(name(c.kernel))
			require.NoError(t, err)
			list, err := codegen.NestedWidths(k, nil, codegen.LowerOptions{})
			require.NoError(t, err)
			own, err := simt.New(lowerKernel(t, p, name(c.kernel), codegen.LowerOptions{}).Program)
			require.NoError(t, err)
			for _, form := range list {
				program, err := simt.New(form.Program)
				require.NoError(t, err)
				for _, n := range []int{0, shortRows, 150} {
					want, bits := c.makeArgs(n), c.makeArgs(n)
					c.runGo(want)
					require.NoError(t, runDevice(own, bits, simt.Config{Teams: 3, Threads: 64, Steps: 200_000_000}))
					for i, s := range shapes {
						if s.threads%32 != 0 {
							continue
						}
						got := c.makeArgs(n)
						require.NoError(t, runDevice(program, got, simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(i), Races: true, Steps: 200_000_000}), "%v, size %d\n%s", form.Width, n, form.Program)
						require.Empty(t, c.differ(want, got), "%v, size %d\n%s", form.Width, n, form.Program)
						if !k.Target.FastMath {
							require.Equal(t, bitsOf(bits), bitsOf(got), "%v, size %d", form.Width, n)
						}
					}
				}
			}
		})
	}
}

// A sum of floats is added in one order by lanes and teams: no form has a thread a row.
func TestNestedWidths_SumsOfFloatsKeepTheirOrder(t *testing.T) {
	p, _ := widthCases(t)
	widths := func(kernel string) (out []target.Width) {
		k, err := p.Kernel(kernel)
		require.NoError(t, err)
		list, err := codegen.NestedWidths(k, nil, codegen.LowerOptions{})
		require.NoError(t, err)
		for _, w := range list {
			out = append(out, w.Width)
		}
		return out
	}
	require.Equal(t, []target.Width{4, 8, 32}, widths("NestedSpMV"))
	require.Equal(t, []target.Width{1, 4, 8, 32}, widths("NestedComponents"))
	require.Equal(t, []target.Width{1, 4, 8, 32}, widths("PlainLevel"))
}

// lengthsMet runs the program that counts the lengths of a kernel, and returns what it counts. The
// scratchpad with the counts is made a parameter for that.
func lengthsMet(t *testing.T, k *ir.Kernel, args []any) (out target.Lengths) {
	p, err := codegen.CountLengths(k, codegen.LowerOptions{})
	require.NoError(t, err)
	for i := range p.Scratch {
		if v := p.Scratch[i].Var; v.Name == target.LengthsName {
			p.Scratch = append(p.Scratch[:i:i], p.Scratch[i+1:]...)
			v.Space = ir.Param
			p.Params = append(p.Params, v)
			break
		}
	}
	require.NoError(t, verify.Program(p))
	program, err := simt.New(p)
	require.NoError(t, err)
	counts := make([][target.LengthClasses]int32, 1)
	require.NoError(t, runDevice(program, append(args, counts), simt.Config{Teams: 3, Threads: 64, Races: true, Steps: 200_000_000}), p.String())
	for i, n := range counts[0] {
		out[i] = uint32(n)
	}
	return out
}

func classOf(length int) (class int) {
	for class < len(target.LengthBounds) && int64(length) >= target.LengthBounds[class] {
		class++
	}
	return class
}

// What is counted is the lengths of the rows that iterations come to; no argument changes.
func TestNestedLengths_AreThoseOfTheRows(t *testing.T) {
	p, cases := widthCases(t)
	reaches := map[string]func(args []any, v int) bool{
		"NestedSpMV":       func([]any, int) bool { return true },
		"NestedBFS":        func(a []any, v int) bool { return a[3].([]int32)[v]&7 == 1 },
		"NestedComponents": func([]any, int) bool { return true },
		"PlainLevel":       func(a []any, v int) bool { return a[3].([]int32)[v] == 1 },
		"PlainSlices":      func([]any, int) bool { return true },
		"PlainRange":       func([]any, int) bool { return true },
		"PlainFast":        func([]any, int) bool { return true },
	}
	found := 0
	for _, c := range cases {
		reach := reaches[name(c.kernel)]
		if reach == nil {
			continue
		}
		found++
		k, err := p.Kernel(name(c.kernel))
		require.NoError(t, err)
		for _, n := range []int{0, 3, 150, 1000} {
			args, before := c.makeArgs(n), c.makeArgs(n)
			got := lengthsMet(t, k, args)
			require.Empty(t, c.differ(before, args[:len(before)]))
			var want target.Lengths
			start := before[0]
			if _, isLevel := start.(int32); isLevel {
				start = before[1]
			}
			rows := start.([]int32)
			for v := range len(rows) - 1 {
				if reach(before, v) {
					want[classOf(int(rows[v+1]-rows[v]))]++
				}
			}
			require.Equal(t, want, got, "%s, %d rows", name(c.kernel), n)
		}
	}
	require.Equal(t, len(reaches), found)
}

// Of a long loop as many iterations are sampled as the target says, and their lengths are those of
// all of them.
func TestNestedLengths_AreSampled(t *testing.T) {
	p, _ := widthCases(t)
	k, err := p.Kernel("NestedComponents")
	require.NoError(t, err)
	const n = 5*target.LengthSamples + 77
	r := rand.New(rand.NewPCG(1, 2))
	start, label := make([]int32, n+1), make([]int32, n)
	for v := range n {
		length := int32(3)
		if r.IntN(4) == 0 {
			length = 20
		}
		start[v+1] = start[v] + length
	}
	got := lengthsMet(t, k, []any{start, make([]int32, start[n]), label, make([]int32, n)})
	require.Equal(t, float64(target.LengthSamples), got.Reached())
	require.InDelta(t, 0.75*target.LengthSamples, float64(got[classOf(3)]), 150)
	require.InDelta(t, 0.25*target.LengthSamples, float64(got[classOf(20)]), 150)
}

// A kernel that changes memory in front of its nested loop has no counts, and explain says so. One
// whose sum of floats around the nested loops would show another number of lanes has no other form.
func TestNestedLengths_Refusals(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: `package k

//omp:target device(acc, smp)
//omp:task in(start, col, x) inout(y, z)
func Changes(start, col []int32, x, y []int32, z []float64) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		z[v] = 1
		least := int32(9)
		//omp:parallel for reduction(min: least) nested(auto)
		for e := start[v]; e < start[v+1]; e++ {
			least = min(least, x[col[e]])
		}
		y[v] = least
	}
}

//omp:target device(acc, smp)
//omp:task in(start, col, x) inout(y, z)
func Around(start, col []int32, x, y []int32, z []float64) {
	total := 0.0
	//omp:teams distribute parallel for reduction(+: total)
	for v := 0; v < len(start)-1; v++ {
		least := int32(9)
		//omp:parallel for reduction(min: least) nested(auto)
		for e := start[v]; e < start[v+1]; e++ {
			least = min(least, x[col[e]])
		}
		y[v] = least
		total += float64(least)
	}
	z[0] = total
}
`})
	require.NoError(t, err)
	k, err := p.Kernel("Changes")
	require.NoError(t, err)
	_, err = codegen.CountLengths(k, codegen.LowerOptions{})
	require.ErrorContains(t, err, "changes memory before it")
	require.Contains(t, lowerKernel(t, p, "Changes", codegen.LowerOptions{}).Explain(), "are not counted: k.go:8:3 changes memory before it")
	k, err = p.Kernel("Around")
	require.NoError(t, err)
	_, err = codegen.NestedWidths(k, nil, codegen.LowerOptions{})
	require.ErrorContains(t, err, "the order of a sum of floats would differ")
	require.Contains(t, lowerKernel(t, p, "Around", codegen.LowerOptions{}).Explain(), "another number would leave other bits")
	q, _ := widthCases(t)
	require.Contains(t, lowerKernel(t, q, "NestedSpMV", codegen.LowerOptions{}).Explain(), "one lane would add floats in another order")
	require.Contains(t, lowerKernel(t, q, "PlainLevel", codegen.LowerOptions{}).Explain(), "1, 4, 8 or 32 by the lengths that the last launch")
}

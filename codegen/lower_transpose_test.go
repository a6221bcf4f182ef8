package codegen_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// padAsArgument makes the only scratch memory of p a parameter, so that a test can look at it.
func padAsArgument(t *testing.T, p *ir.Program) *ir.Program {
	require.Len(t, p.Scratch, 1, p)
	pad := *p.Scratch[0].Var
	pad.Space = ir.Param
	q := *p
	q.Scratch, q.Params = nil, append(append([]*ir.Var{}, p.Params...), &pad)
	k := *p.Kernel
	k.Params = q.Params
	q.Kernel = &k
	r := &ir.Rewrite{Var: func(v *ir.Var) *ir.Var {
		if v == p.Scratch[0].Var {
			return &pad
		}
		return v
	}}
	q.Launches = nil
	for _, g := range p.Launches {
		c := *g
		c.Body = r.CopyStmts(g.Body)
		q.Launches = append(q.Launches, &c)
	}
	return &q
}

// An array of a thread that local memory cannot hold lies in scratch memory, and neighbouring threads find one element of it
// next to each other.
func TestLargeArraysAreTransposed(t *testing.T) {
	l, err := lowerText(t, `import "github.com/gompss/gompss/codegen/kernel"

//omp:target device(acc)
//omp:task inout(x)
func K(x []int32) {
	//omp:teams
	{
		k := kernel.TeamNum()
		//omp:parallel
		{
			var a [120000]int32
			for i := range 3 {
				a[i*50000] = int32(k*1000 + kernel.ThreadNum()*10 + i)
			}
			//omp:atomic
			x[0] += a[50000]
		}
	}
}`, codegen.LowerOptions{})
	require.NoError(t, err)
	require.Contains(t, l.Explain(), "array a -> device memory, one for each thread, transposed: the threads of a warp find one element next to each "+
		"other: the arrays of a thread take 480000 bytes, local memory has 458752; at most 34 teams of 128 threads then run")
	program, err := simt.New(padAsArgument(t, l.Program))
	require.NoError(t, err)
	const teams, threads, n = 2, 64, 120000
	bytes := make([]byte, teams*4*n*32*4)
	elem := int64(n * 32 * 4)
	x := make([]int32, 1)
	pad := simt.Arg{Memory: &simt.Memory{Name: "pad", Bytes: bytes}, Len: int64(len(bytes)) / elem, Cap: int64(len(bytes)) / elem}
	_, err = program.Run([]simt.Arg{deviceArg(0, x), pad}, simt.Config{Teams: teams, Threads: threads})
	require.NoError(t, err)
	want := int32(0)
	for k := range teams {
		for thread := range threads {
			want += int32(k*1000 + thread*10 + 1)
			for i := range 3 {
				at := (((k*4+thread/32)*n)+i*50000)*32 + thread%32
				require.EqualValues(t, k*1000+thread*10+i, binary.LittleEndian.Uint32(bytes[4*at:]), "team %d thread %d element %d", k, thread, i)
			}
		}
	}
	require.Equal(t, want, x[0])
}

// Large arrays compute what small ones do: of one dimension and two, used by elements, as a whole and by their address, in every
// iteration new.
func TestLargeArraysEqualGo(t *testing.T) {
	l, err := lowerText(t, `
//omp:target device(acc)
//omp:task inout(x, y)
func K(x, y []float64, n int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		var a [300][200]float64
		var b [200]float64
		var c [9000]int
		for k := 0; k < n; k++ {
			a[k*7%300][k%200] += x[i] + float64(k)
			b[k%200]--
			c[k]++
		}
		d := c
		d[0] += 5
		part := c[1:n]
		part[0] += d[0]
		y[i] += a[7][1] + a[14][2] + a[0][0] + b[3] + float64(c[1]+c[2])
		if y[i] > 1e6 {
			y[i] = a[n][n]
		}
	}
}`, codegen.LowerOptions{})
	require.NoError(t, err)
	require.Contains(t, l.Explain(), "array a -> device memory, one for each thread, transposed")
	require.NotContains(t, l.Explain(), "array b -> device memory")
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	for seed, s := range shapes[2:6] {
		x, y, want := make([]float64, 9), make([]float64, 9), make([]float64, 9)
		for i := range x {
			x[i] = float64(i) / 4
			want[i] = (x[i] + 1) + (x[i] + 2) + x[i] - 1 + 1 + 1 + 6
		}
		err := runDevice(program, []any{x, y, 20}, simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(seed), Races: true, Steps: 50_000_000})
		require.NoError(t, err, l.Program)
		require.Equal(t, want, y, "%v\n%s", s, l.Program)
	}
	x, y := []float64{math.MaxFloat64, 2}, []float64{0, 0}
	err = runDevice(program, []any{x, y, 250}, simt.Config{Teams: 1, Threads: 32, Steps: 50_000_000})
	require.ErrorContains(t, err, "[n]: index 250 out of range: length 200", "the check of the array's own index stays")
}

func TestArraysThatNoDeviceCanHold(t *testing.T) {
	_, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int) {\n//omp:parallel for\nfor i := range x {\n"+
		"var a [1<<26]int\na[i] = x[i]\nx[i] = a[i] + 1\n}\n}", codegen.LowerOptions{})
	require.ErrorContains(t, err, "k.go:8:5: array a: the arrays of a thread take 536870912 bytes and those of 64 threads 34359738368, of at most 2147483648; "+
		"make it smaller, or a parameter")
	_, err = lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int) {\n//omp:parallel for\nfor i := range x {\n"+
		"x[i] = f(x[i])\n}\n}\n\nfunc f(n int) int {\nvar a [1<<16]int\na[n] = 1\nreturn a[n]\n}", codegen.LowerOptions{})
	require.ErrorContains(t, err, "function f: its arrays take 524288 bytes, a thread has 458752; declare the array in the kernel and pass a slice of it")
}

//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// overlapRegions are kernels with code that every thread, or every team, runs. refused says for how
// many elements between x and y, from 0 on, a launch with overlapping slices is refused.
var overlapRegions = []struct {
	name    string
	refused int
	text    string
}{
	{"parallel alone", 3, `func K(n int, x, y []int64) {
		//omp:parallel num_threads(64)
		{
			y[kernel.ThreadNum()] = x[kernel.ThreadNum()+1] + 1
		}
}`},
	{"parallel", 3, `func K(n int, x, y []int64) {
	//omp:teams num_teams(1)
	{
		//omp:parallel num_threads(64)
		{
			y[kernel.ThreadNum()] = x[kernel.ThreadNum()+1] + 1
		}
	}
}`},
	{"manual", 3, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(64)
	{
		for i := kernel.ThreadNum(); i < n; i += kernel.NumThreads() {
			y[i] = x[i]+1
		}
	}
}`},
	{"before for", 3, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(64)
	{
		y[kernel.ThreadNum()] = 1
		//omp:for
		for i := 0; i < n; i++ {
			y[100+i] = x[i]+1
		}
	}
}`},
	{"behind for", 0, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(64)
	{
		//omp:for
		for i := 0; i < n; i++ {
			y[100+i] = x[i]+1
		}
		y[kernel.ThreadNum()] = 1
	}
}`},
	{"single", 0, `func K(n int, x, y []int64) {
	//omp:teams num_teams(1)
	{
		//omp:parallel num_threads(64)
		{
			//omp:single
			{ y[0] = 5 }
			q := x[0]
			kernel.Barrier()
			//omp:for
			for i := 0; i < n; i++ {
				y[i] = q
			}
		}
	}
}`},
	{"single with nowait", 3, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(64)
	{
		//omp:single nowait
		{
			y[100] = x[7]
		}
		//omp:for
		for i := 0; i < n; i++ {
			y[i] = 3
		}
	}
}`},
	{"masked", 1, `func K(n int, x, y []int64) {
	//omp:teams num_teams(1)
	{
		//omp:parallel num_threads(64)
		{
			//omp:masked
			{ y[0] = 5 }
			q := x[0]
			kernel.Barrier()
			//omp:for
			for i := 0; i < n; i++ {
				y[i] = q
			}
		}
	}
}`},
	{"barrier", 0, `func K(n int, x, y []int64) {
	//omp:teams num_teams(1)
	{
		//omp:parallel num_threads(64)
		{
			t := kernel.ThreadNum()
			q := x[t+1]
			kernel.Barrier()
			y[t] = q
		}
	}
}`},
	{"barrier in loop", 3, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(64)
	{
		for j := 0; j < 3; j++ {
			q := x[kernel.ThreadNum()]
			kernel.Barrier()
			y[(kernel.ThreadNum()+1)%kernel.NumThreads()] = q
		}
	}
}`},
	{"barriers in loop", 0, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(64)
	{
		for j := 0; j < 3; j++ {
			q := x[kernel.ThreadNum()]
			kernel.Barrier()
			y[(kernel.ThreadNum()+1)%kernel.NumThreads()] = q
			kernel.Barrier()
		}
	}
}`},
	{"teams", 3, `func K(n int, x, y []int64) {
	//omp:teams num_teams(4)
	{
		y[kernel.TeamNum()] = x[kernel.TeamNum()+1] + 1
	}
}`},
	{"two distributes", 3, `func K(n int, x, y []int64) {
	//omp:teams
	{
		//omp:distribute parallel for
		for i := 0; i < n; i++ {
			y[i] = 1
		}
		//omp:distribute parallel for
		for i := 0; i < n; i++ {
			y[20+i] = x[i+1]
		}
	}
}`},
	{"team code", 0, `func K(n int, x, y []int64) {
	//omp:teams num_teams(1)
	{
		s := x[0]
		y[0] = s + 1
		//omp:parallel for
		for i := 0; i < n; i++ {
			y[i+1] += s
		}
		y[0] += x[0]
	}
}`},
	{"alone", 0, `func K(n int, x, y []int64) {
	s := x[0]
	y[0] = s + 1
	y[1] += x[0]
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		y[i+10] += x[i+50]
	}
	y[3] += x[12]
}`},
	{"barrier in helper", 0, `func sync() { kernel.Barrier() }

func K(n int, x, y []int64) {
	//omp:parallel num_threads(64)
	{
		q := x[kernel.ThreadNum()+1]
		sync()
		y[kernel.ThreadNum()] = q
	}
}`},
	{"barrier in one branch", 3, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(64)
	{
		q := x[kernel.ThreadNum()+1]
		if n > 100 {
			kernel.Barrier()
		}
		y[kernel.ThreadNum()] = q
	}
}`},
	{"barrier that a break passes", 3, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(64)
	{
		q := int64(0)
		for j := 0; j < 3; j++ {
			q = x[kernel.ThreadNum()+1]
			if n < 100 {
				break
			}
			kernel.Barrier()
		}
		y[kernel.ThreadNum()] = q
	}
}`},
	{"one thread", 0, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(1)
	{
		y[kernel.ThreadNum()] = x[kernel.ThreadNum()+1]
	}
}`},
	{"both masked", 0, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(64)
	{
		//omp:masked
		{
			y[0] = 5
		}
		//omp:masked
		{
			y[1] = x[0]
		}
	}
}`},
	{"in a distributed loop", 3, `func K(n int, x, y []int64) {
	//omp:teams distribute
	for r := 0; r < n; r++ {
		//omp:parallel num_threads(8)
		{
			y[r*8+kernel.ThreadNum()] = x[r*8+(kernel.ThreadNum()+1)%8]
		}
	}
}`},
	{"a branch behind nowait", 3, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(16)
	{
		//omp:for nowait
		for i := 0; i < n; i++ {
			y[i+1] = 7
		}
		if n > 5 {
			//omp:single
			{
				y[150] = x[4]
			}
		}
	}
}`},
	{"a loop behind nowait", 3, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(16)
	{
		//omp:for nowait
		for i := 0; i < n; i++ {
			y[i+1] = 7
		}
		for {
			//omp:for
			for i := 0; i < n; i++ {
				y[150+i] = x[4]
			}
			if n > 5 {
				break
			}
		}
	}
}`},
	{"a branch with a barrier behind nowait", 0, `func K(n int, x, y []int64) {
	//omp:parallel num_threads(16)
	{
		//omp:for nowait
		for i := 0; i < n; i++ {
			y[i+1] = 7
		}
		if n > 5 {
			kernel.Barrier()
			//omp:single
			{
				y[150] = x[4]
			}
		}
	}
}`},
	{"through a pointer", 3, `func put(p *int64, v int64) { *p = v }

func K(n int, x, y []int64) {
	//omp:parallel num_threads(64)
	{
		put(&y[kernel.ThreadNum()], x[kernel.ThreadNum()+1])
	}
}`},
}

// regionEnv gives the arguments of such a launch to the contract: 8, and two slices of 200
// elements.
type regionEnv struct{}

func (regionEnv) Scalar(*ir.Var) (ir.Bits, bool)     { return 8, true }
func (regionEnv) Query(ir.QueryKind) (int64, bool)   { return 0, false }
func (regionEnv) Bytes(*ir.Var) ([]byte, bool)       { return nil, false }
func (regionEnv) Slice(*ir.Var) (int64, int64, bool) { return 200, 200, true }

// TestOverlap_CodeOutsideOfLoops launches code that no loop shares out with slices that overlap.
// What two threads or teams may touch is refused; what is not refused has no race.
//
// Issue 16, 2.
func TestOverlap_CodeOutsideOfLoops(t *testing.T) {
	raced := 0
	for _, c := range overlapRegions {
		t.Run(c.name, func(t *testing.T) {
			text := "package k\n\nimport \"github.com/gompss/gompss/codegen/kernel\"\n\nvar _ = kernel.TeamNum\n\n"
			p, err := codegen.Load(codegen.File{Name: "k.go", Text: text + markKernel(c.text)})
			require.NoError(t, err)
			k, err := p.Kernel("K")
			require.NoError(t, err)
			l, err := codegen.Lower(k, codegen.LowerOptions{})
			require.NoError(t, err)
			program, err := simt.New(l.Program)
			require.NoError(t, err)
			overlaps := codegen.NewOverlaps(k)
			for gap := range 3 {
				err := checkRegions(k, overlaps, int64(8*gap))
				require.Equal(t, gap < c.refused, err != nil, "%d elements between the slices: %v", gap, err)
				for seed := range uint64(6) {
					both := memoryOfAll("all", make([]int64, 300))
					args := []simt.Arg{{Bits: 8}, {Memory: both, Len: 200, Cap: 200}, {Memory: both, Offset: int64(8 * gap), Len: 200, Cap: 200}}
					_, run := program.Run(args, simt.Config{Teams: 1 + 2*int(seed%2), Threads: 64, Seed: seed, Races: true, Steps: 1_000_000})
					if err == nil {
						require.NoError(t, run)
					} else if run != nil {
						raced++
					}
				}
			}
			require.NoError(t, checkRegions(k, overlaps, 8*200), "the slices do not overlap")
		})
	}
	require.Greater(t, raced, 50)
}

// checkRegions is the error of a launch whose y begins gap bytes behind x, nil where it may run.
func checkRegions(k *ir.Kernel, overlaps *codegen.Overlaps, gap int64) error {
	if overlaps == nil {
		return nil
	}
	var first error
	for n, pair := range overlaps.Pairs {
		var proof codegen.Proof
		behind := gap // of the second one
		if k.Params[pair[0]].Name == "y" {
			behind = -gap
		}
		err := overlaps.Check(k, regionEnv{}, &proof, n, behind)
		if overlap := (*codegen.OverlapError)(nil); first == nil && errors.As(err, &overlap) {
			first = err
		}
	}
	return first
}

// markKernel puts the directives of K in front of it.
func markKernel(text string) string {
	return strings.Replace(text, "func K(", "//omp:target device(acc, smp)\n//omp:task in(x) inout(y)\nfunc K(", 1)
}

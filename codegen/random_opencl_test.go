//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/opencl"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
)

// openPoCL opens PoCL's first device, or the OpenCL device that GOMPSS_TEST_DEVICE names, until the
// end of the test.
func openPoCL(t *testing.T) *corpusDevice {
	t.Helper()
	spec := "opencl:1(platform=pocl,cache=off)"
	if named := os.Getenv("GOMPSS_TEST_DEVICE"); strings.HasPrefix(named, "opencl") {
		spec = named
	}
	m, err := machine.Open(spec, machine.Options{})
	if err != nil {
		t.Skipf("no OpenCL: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return &corpusDevice{Accelerator: m.Accelerators()[0]}
}

// portable makes kernel K of a text for a device, nil where OpenCL C has no form of it.
func (d *corpusDevice) portable(text, name string, keep bool) (*devices.Kernel, error) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	if err != nil {
		return nil, err
	}
	loop, err := p.Kernel(name)
	if err != nil {
		return nil, err
	}
	l, err := codegen.Lower(loop, codegen.LowerOptions{Target: "opencl", NoShuffles: true, KeepChecks: keep, Device: d.target()})
	if err != nil {
		return nil, err
	}
	if _, err := opencl.Print(l.Program, opencl.Options{Fence: opencl.HostFence}); err != nil {
		return nil, nil
	}
	k := &devices.Kernel{Name: name, Program: l.Program}
	return k, d.Prepare(k)
}

// indexFromMemory is a kernel whose launch fails where its array names an element that it lacks.
const indexFromMemory = `package k

//omp:target device(acc, smp)
func K(n int, a []int32, o []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		o[i] = a[a[i]]
	}
}
`

// TestRandomFlowsOnPoCL runs random kernels of control flow, and nests of loops, on PoCL: where Go
// panics the launch fails, elsewhere the results are Go's. GOMPSS_RANDOM_FLOWS=10m looks for so
// long. A launch that takes two minutes ends the process, with its seed. As few programs may have no
// launch that fails, indexFromMemory has one.
func TestRandomFlowsOnPoCL(t *testing.T) {
	d := openPoCL(t)
	f := &flowRunner{t: t}
	defer f.close()
	fails, err := d.portable(indexFromMemory, "K", true)
	require.NoError(t, err)
	f.watch(flowKernel{text: indexFromMemory}, "on PoCL")
	require.NoError(t, d.run(fails, []any{3, []int32{2, 1, 0}, make([]int32, 3)}))
	require.ErrorIs(t, d.run(fails, []any{3, []int32{2, 3, 0}, make([]int32, 3)}), ir.ErrBounds)
	n := uint64(16)
	if testing.Short() {
		n = 4
	}
	ran, failed, refused := 0, 0, 0
	for seed := range seedsOf(t, "GOMPSS_RANDOM_FLOWS", n) {
		k := makeFlow(seed)
		r := rand.New(rand.NewPCG(seed, 11))
		list := [][]any{k.args(r, 0), k.args(r, 1), k.args(r, 2)}
		if seed%2 == 1 {
			w := &affineNest{Rand: rand.New(rand.NewPCG(seed, 43))}
			w.nest(false)
			k = flowKernel{seed: seed, text: w.text()}
			list = [][]any{nestArgs(r), nestArgs(r)}
		}
		text := "package k\n\n" + k.as.apply(k.text)
		kernel, err := d.portable(text, "K", seed%4 < 2)
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text)
			continue
		}
		if kernel == nil {
			refused++
			continue
		}
		oracle, err := interpret("package k\n\n" + k.text)
		require.NoError(t, err, "seed %d", seed)
		loaded, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err)
		loop, err := loaded.Kernel("K")
		require.NoError(t, err)
		order, err := flowOrder(loop, k.text)
		require.NoError(t, err)
		for _, begin := range list {
			want, got := copyArgs(begin), copyArgs(begin)
			run := oracle.call("K", flowSteps, want)
			if run.endless {
				continue
			}
			ran++
			f.watch(k, "on PoCL, "+scalarsOf(begin))
			err := d.run(kernel, inOrder(order, got))
			switch {
			case run.panicked != "":
				failed++
				if err == nil {
					t.Errorf("seed %d, %s: no error, Go panics: %s\n%s", seed, scalarsOf(begin), run.panicked, text)
				}
			case err != nil:
				t.Errorf("seed %d, %s: %v\n%s", seed, scalarsOf(begin), err, text)
			default:
				if diff := (corpusCase{}).differ(want, got); diff != "" {
					t.Errorf("seed %d, %s: %s\n%s", seed, scalarsOf(begin), diff, text)
				}
			}
		}
	}
	t.Logf("%d launches, %d of which fail, %d kernels have no form in OpenCL C", ran, failed, refused)
	require.Positive(t, ran)
}

// shareOfNests returns which kernels of the nesting table run: those whose number modulo the
// second result is the first. GOMPSS_NESTS=all takes all, GOMPSS_NESTS=2/16 every 16th from the
// third on, so that several processes share the table.
func shareOfNests(t *testing.T) (first, step int) {
	t.Helper()
	switch text := os.Getenv("GOMPSS_NESTS"); {
	case text == "all":
		return 0, 1
	case text != "":
		_, err := fmt.Sscanf(text, "%d/%d", &first, &step)
		require.NoError(t, err, "GOMPSS_NESTS")
		require.True(t, 0 <= first && first < step, "GOMPSS_NESTS=%s", text)
		return first, step
	case testing.Short():
		return 330, 331
	}
	return 164, 165
}

// TestClausesInEveryNestingOnPoCL runs some kernels of the nesting table with clauses on PoCL, or
// those that GOMPSS_NESTS names.
func TestClausesInEveryNestingOnPoCL(t *testing.T) {
	d := openPoCL(t)
	table := tableClauses(t)
	legal, _ := nestingTable(t)
	first, step := shareOfNests(t)
	ran, refused, at := 0, 0, 0
	for _, n := range legal {
		for j := range n.kernels(table) {
			if at++; (at-1)%step != first {
				continue
			}
			c := makeClauseNest(table, n, j, "")
			text := clauseHead + c.text(0)
			k, err := d.portable(text, "K0", at%2 == 0)
			if err != nil {
				if !refusedInOrder(c.text(0), err) {
					t.Errorf("%s: %v\n%s", n, err, text)
				}
				continue
			}
			if k == nil {
				refused++
				continue
			}
			if ran++; ran%100 == 0 {
				t.Logf("%d ran, the last is number %d", ran, at)
			}
			want, got := c.want(), newClauseMemory()
			err = d.run(k, []any{got.x, got.y, got.z, got.c})
			equal := slices.Equal(want.x, got.x) && slices.Equal(want.y, got.y) && (want.lostZ || slices.Equal(want.z, got.z)) && slices.Equal(want.c, got.c)
			if err = errors.Join(err, unless(equal, "the results differ")); err != nil {
				t.Errorf("%s: %v\n%s%s", n, err, text, difference(want, got))
			}
		}
	}
	t.Logf("%d of %d kernels ran, %d have no form in OpenCL C", ran, at, refused)
	require.Positive(t, ran)
}

func unless(fine bool, format string) error {
	if fine {
		return nil
	}
	return fmt.Errorf("%s", format)
}

// TestReturn_BesideFailedChecks: threads that return do not leave one behind that has failed a
// check, at a barrier for ever.
func TestReturn_BesideFailedChecks(t *testing.T) {
	t.Parallel()
	d := openPoCL(t)
	k, err := d.portable(`package k

//omp:target device(acc)
//omp:task inout(x) in(by)
func Rounds(rounds int, x []int64, by []int32) {
	//omp:teams distribute
	for r := 0; r < len(x)/8; r++ {
		for k := 0; k < rounds; k++ {
			//omp:parallel for
			for c := 0; c < 8; c++ {
				x[r*8+c] += x[r*8+c] / int64(by[c])
			}
		}
	}
	if rounds > 2 {
		return
	}
	//omp:teams distribute parallel for
	for i := range x {
		x[i]++
	}
}
`, "Rounds", true)
	require.NoError(t, err)
	require.NotNil(t, k)
	for _, rounds := range []int{1, 3} {
		by := []int32{1, 2, 3, 4, 5, 6, 7, 8}
		x, want := make([]int64, 40), make([]int64, 40)
		for i := range x {
			x[i], want[i] = int64(i), int64(i)
			for range rounds {
				want[i] += want[i] / int64(by[i%8])
			}
			if rounds <= 2 {
				want[i]++
			}
		}
		require.NoError(t, d.run(k, []any{rounds, x, by}))
		require.Equal(t, want, x)
		by[3] = 0
		require.ErrorContains(t, d.run(k, []any{rounds, x, by}), "division by zero")
	}
}

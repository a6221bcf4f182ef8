//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// regionFlows makes random code that every thread, or every team, runs: it reads x and writes y,
// with barriers, shared loops, singles and masked blocks in between.
type regionFlows struct {
	*rand.Rand
	b       strings.Builder
	depth   int
	threads bool // each thread runs the code, not each team
}

func (w *regionFlows) line(format string, args ...any) {
	w.b.WriteString(strings.Repeat("\t", w.depth) + fmt.Sprintf(format, args...) + "\n")
}

func (w *regionFlows) pick(list ...string) string { return list[w.IntN(len(list))] }

// own is an element that the thread or team has for itself.
func (w *regionFlows) own() string {
	if !w.threads {
		return fmt.Sprintf("kernel.TeamNum()+%d", w.IntN(4)*8)
	}
	return fmt.Sprintf("kernel.TeamNum()*16+kernel.ThreadNum()+%d", w.IntN(3)*48)
}

func (w *regionFlows) other() string {
	return w.pick(w.own(), w.own()+"+1", fmt.Sprint(w.IntN(20)), "n+2")
}

func (w *regionFlows) stmts(n int) {
	w.depth++
	for range n {
		w.stmt()
	}
	w.depth--
}

func (w *regionFlows) stmt() {
	n := w.IntN(12)
	if !w.threads && n > 5 {
		n = w.IntN(6)
	}
	switch n {
	case 0, 1:
		w.line("y[%s] = q + 1", w.own())
	case 2, 3:
		w.line("q += x[%s]", w.other())
	case 4:
		if w.depth > 4 {
			return
		}
		w.line("for j := 0; j < %s; j++ {", w.pick("2", "n-6", "n-8"))
		w.stmts(1 + w.IntN(3))
		if w.IntN(4) == 0 {
			w.line("	if n %s 5 {", w.pick("<", ">"))
			w.line("		%s", w.pick("break", "continue"))
			w.line("	}")
			w.stmts(1)
		}
		w.line("}")
	case 5:
		if w.depth > 4 {
			return
		}
		w.line("if n %s 5 {", w.pick("<", ">"))
		w.stmts(1 + w.IntN(2))
		w.line("}")
	case 6, 7:
		w.line("%s", w.pick("kernel.Barrier()", "meet()"))
	case 8:
		w.line("//omp:for%s", w.pick("", " nowait"))
		w.line("for i := 0; i < n; i++ {")
		w.line("	y[kernel.TeamNum()*16+i+%d] = x[i+%d] + q", w.IntN(20), w.IntN(20))
		w.line("}")
	case 9:
		w.line("//omp:single%s", w.pick("", " nowait"))
		w.line("{")
		w.line("	y[kernel.TeamNum()+%d] = x[%d]", 144+w.IntN(4), w.IntN(160))
		w.line("}")
	case 10:
		w.line("//omp:masked")
		w.line("{")
		w.line("	y[kernel.TeamNum()+%d] = x[%d]", 144+w.IntN(4), w.IntN(160))
		w.line("}")
	default:
		w.line("q ^= %d", w.IntN(9))
	}
}

// kernel makes one.
func (w *regionFlows) kernel() string {
	w.line("func meet() { kernel.Barrier() }")
	w.line("")
	w.line("func K(n int, x, y []int64) {")
	w.depth++
	form := w.IntN(4)
	w.threads = form > 0
	if form == 0 || form == 1 {
		w.line("//omp:teams num_teams(3)")
		w.line("{")
		w.depth++
	}
	if form > 0 {
		w.line("//omp:parallel num_threads(16)")
		w.line("{")
		w.depth++
	}
	w.line("q := int64(1)")
	w.depth--
	w.stmts(2 + w.IntN(4))
	for ; w.depth >= 0; w.depth-- {
		w.line("}")
	}
	return w.b.String()
}

// TestOverlap_RandomRegions launches random code of regions with slices that overlap: what is not
// refused, and has no race with slices apart, has none. GOMPSS_RANDOM_OVERLAPS=30m looks for so
// long.
//
// Issue 16, 2.
func TestOverlap_RandomRegions(t *testing.T) {
	count := map[string]int{}
	failures := 0
	for seed := range seedsOf(t, "GOMPSS_RANDOM_OVERLAPS", 300) {
		w := &regionFlows{Rand: rand.New(rand.NewPCG(seed, 53))}
		if err := checkRandomRegion(w.Rand, w.kernel(), count); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, w.b.String())
			if failures++; failures == 10 {
				break
			}
		}
	}
	t.Log(count)
	for _, what := range []string{"refused", "refused, and has a race", "may run"} {
		require.Positive(t, count[what], what)
	}
}

func checkRandomRegion(r *rand.Rand, text string, count map[string]int) error {
	head := "package k\n\nimport \"github.com/gompss/gompss/codegen/kernel\"\n\nvar _ = kernel.TeamNum\n\n"
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: head + markKernel(text)})
	if err != nil {
		count["does not load"]++
		return nil
	}
	k, err := p.Kernel("K")
	if err != nil {
		return err
	}
	l, err := codegen.Lower(k, codegen.LowerOptions{})
	if err != nil {
		count["no device form"]++
		return nil
	}
	program, err := simt.New(l.Program)
	if err != nil {
		return err
	}
	run := func(gap int, seed uint64) error {
		both := memoryOfAll("all", make([]int64, 800))
		args := []simt.Arg{{Bits: 8}, {Memory: both, Offset: 8 * 200, Len: 200, Cap: 200}, {Memory: both, Offset: int64(8 * (200 + gap)), Len: 200, Cap: 200}}
		_, err := program.Run(args, simt.Config{Teams: 3, Threads: 16, Seed: seed, Races: true, Steps: 1_000_000})
		return err
	}
	for seed := range uint64(3) {
		if run(300, seed) != nil {
			count["has a race of its own"]++
			return nil
		}
	}
	overlaps := codegen.NewOverlaps(k)
	for range 4 {
		gap := r.IntN(60) - 30
		refused := checkRegions(k, overlaps, int64(8*gap))
		for range 3 {
			err := run(gap, r.Uint64())
			switch {
			case refused == nil && err != nil:
				return fmt.Errorf("%d elements between the slices: nothing is said: %w", gap, err)
			case refused == nil:
				count["may run"]++
			case err != nil:
				count["refused, and has a race"]++
			default:
				count["refused"]++
			}
		}
	}
	return nil
}

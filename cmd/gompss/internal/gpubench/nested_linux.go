//go:build amd64 || arm64

package gpubench

import (
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/devices"
)

//go:embed nested.cu
var nestedReference string

// nestedWays are the ways in which the nested loops are written. The first is without a clause; its
// kernel without the forms for lengths that launches meet is called first.
var nestedWays = []string{"none", "inline", "eager", "warp", "cta", "host"}

// nestedWay is the text of the kernels in one way.
func nestedWay(how string) string {
	if how == "none" {
		return strings.ReplaceAll(nestedSource, " nested(auto)", "")
	}
	return strings.ReplaceAll(nestedSource, "nested(auto)", "nested("+how+")")
}

// A nestedCase is one kernel; its arguments follow from a graph, and the last one is the result.
type nestedCase struct {
	kernel, hand string
	args         func(g *graph) [][]any // of each launch that counts
}

var nestedSuite = []nestedCase{
	{"RowProducts", "rowproducts", func(g *graph) [][]any {
		return [][]any{{g.start, g.col, random64(1, len(g.col)), random64(2, g.nodes()), make([]float64, g.nodes())}}
	}},
	{"LevelOf", "levelof", func(g *graph) [][]any {
		depth, levels := g.depths()
		next := make([]int32, g.nodes())
		for i := range next {
			next[i] = math.MaxInt32
		}
		var out [][]any
		for l := range min(levels, 6) { // of a grid the first
			out = append(out, []any{l, g.start, g.col, depth, next})
		}
		return out
	}},
	{"RankStep", "rankstep", func(g *graph) [][]any {
		return [][]any{{0.85, g.start, g.col, random64(1, g.nodes()), make([]float64, g.nodes())}}
	}},
	{"Relax", "relax", func(g *graph) [][]any {
		weight, dist, next := make([]int32, len(g.col)), make([]int32, g.nodes()), make([]int32, g.nodes())
		r := rand.New(rand.NewPCG(3, 4))
		for i := range weight {
			weight[i] = r.Int32N(100)
		}
		for i := range dist {
			dist[i], next[i] = r.Int32N(1000), math.MaxInt32
		}
		return [][]any{{g.start, g.col, weight, dist, next}}
	}},
	{"ScatterProducts", "scatterproducts", func(g *graph) [][]any {
		return [][]any{{g.start, g.col, random64(1, len(g.col)), random64(2, g.nodes()), make([]float64, g.nodes())}}
	}},
	{"Highest", "highest", func(g *graph) [][]any {
		return [][]any{{int32(1), g.start, g.col, lessThan(1<<30, g.nodes()), make([]int32, g.nodes())}}
	}},
	{"Dependency", "dependency", func(g *graph) [][]any {
		return [][]any{{g.start, g.col, lessThan(3, g.nodes()), some32(1, g.nodes()), some32(2, g.nodes()), make([]float32, g.nodes())}}
	}},
	{"RowSoftmax", "rowsoftmax", func(g *graph) [][]any {
		return [][]any{{g.start, g.col, some32(1, len(g.col)), make([]float32, g.nodes())}}
	}},
	{"Tessellate", "tessellate", func(g *graph) [][]any {
		n := g.nodes()
		return [][]any{{g.start, g.col, some32(1, n), some32(2, n), some32(3, n), make([]float32, len(g.col))}}
	}},
}

// lessThan returns n numbers less than most.
func lessThan(most int32, n int) []int32 {
	r := rand.New(rand.NewPCG(7, uint64(most)))
	out := make([]int32, n)
	for i := range out {
		out[i] = r.Int32N(most)
	}
	return out
}

// some32 returns n numbers from 1 to 2.
func some32(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 8))
	out := make([]float32, n)
	for i := range out {
		out[i] = 1 + r.Float32()
	}
	return out
}

// runNested measures the kernels in every way on every graph beside CUDA by hand, and prints the
// geometric means of the quotients of the time by hand and ours.
func runNested(o Options) error {
	b, err := openBench(o)
	if err != nil {
		return err
	}
	b.hand = compileReference(o, nestedReference, nil)
	kernels := map[string]*devices.Kernel{}
	for _, how := range nestedWays {
		if b.pkg, err = codegen.Load(codegen.File{Name: "nested_kernels.go", Text: nestedWay(how)}); err != nil {
			return err
		}
		for _, c := range nestedSuite {
			if kernels[how+c.kernel], _, err = b.suiteKernel(c.kernel); err != nil {
				return err
			}
		}
	}
	ways := append([]string{"first"}, nestedWays...)
	for _, c := range nestedSuite {
		forms := formsOf(kernels[nestedWays[0]+c.kernel])
		kernels["first"+c.kernel] = forms[0]
		for w, k := range forms {
			kernels[lanes(w)+c.kernel] = k
		}
	}
	if o.Trials {
		for _, w := range target.Widths {
			ways = append(ways, lanes(w))
		}
	}
	fmt.Fprintf(o.Stdout, "%s, by hand: %s, ms\n%-15s %-8s %8s", b.device(), b.hand.by, "kernel", "graph", "by hand")
	for _, how := range ways {
		fmt.Fprintf(o.Stdout, " %8s", how)
	}
	fmt.Fprintln(o.Stdout, "  ratio of none")
	logs, rows := 0.0, 0
	for _, g := range graphs(b.size(1<<21, 1<<9)) {
		for _, c := range nestedSuite {
			if !o.wants(c.kernel) && !o.wants(g.name) {
				continue
			}
			ratio, err := b.nestedRow(g, c, kernels, ways)
			if err != nil {
				fmt.Fprintf(o.Stdout, "  FAILED: %v\n", err)
				continue
			}
			logs, rows = logs+math.Log(ratio), rows+1
		}
	}
	fmt.Fprintf(o.Stdout, "geometric mean of the plain loop over %d rows: %.3f\n", rows, math.Exp(logs/float64(max(rows, 1))))
	return b.close()
}

// lanes is the name of the form with w lanes a row.
func lanes(w target.Width) string { return fmt.Sprint(int(w)) }

// formsOf returns kernel k with one number of lanes for its nested loops alone; that for 0 has the
// compiler's choice.
func formsOf(k *devices.Kernel) map[target.Width]*devices.Kernel {
	own := *k
	own.Rows = nil
	forms := map[target.Width]*devices.Kernel{0: &own}
	if k.Rows == nil {
		return forms
	}
	for _, f := range k.Rows.Forms() {
		one := own
		if one.Program, one.Unchecked = f.Program, f.Unchecked; one.Unchecked == nil {
			one.Proves = nil
		}
		forms[f.Width] = &one
	}
	return forms
}

// nestedRow prints the times of kernel c on graph g, in all ways.
func (b *bench) nestedRow(g *graph, c nestedCase, kernels map[string]*devices.Kernel, ways []string) (ratio float64, err error) {
	launches := c.args(g)
	data, err := b.load(suiteCase{args: func(int) []any { return launches[0] }, out: len(launches[0]) - 1}, 0)
	if err != nil {
		return 0, err
	}
	hubs, err := put(b, make([]int32, 1<<17+1))
	if err != nil {
		return 0, err
	}
	defer func() {
		b.keep = nil
		runtime.GC()
	}()
	args := func(l []any) []devices.Arg {
		out := append([]devices.Arg{}, data.args...)
		if level, ok := l[0].(int); ok {
			out[0] = whole(level)
		}
		return out
	}
	want, hand, err := b.nestedByHand(g, c, data, launches, args, hubs)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(b.Stdout, "%-15s %-8s %8.4f", c.kernel, g.name, hand*1e3)
	for _, how := range ways {
		k := kernels[how+c.kernel]
		// a thread a hub takes a tenth of a second
		if k == nil || how == "inline" && g.most > 20_000 {
			fmt.Fprintf(b.Stdout, " %8s", "-")
			continue
		}
		seconds := 0.0
		for _, l := range launches {
			if how == nestedWays[0] {
				if err := b.meet(data, k, args(l)); err != nil {
					return 0, err
				}
			}
			s, err := b.time(k, repeats, args(l)...)
			if err != nil {
				return 0, err
			}
			seconds += s
		}
		got, err := b.once(data, k, args(launches[0]))
		if err != nil {
			return 0, err
		}
		note := ""
		if err := alike(want, got, nestedTolerance(want)); err != nil {
			note = "!"
		}
		fmt.Fprintf(b.Stdout, " %7.4f%1s", seconds*1e3, note)
		if how == nestedWays[0] {
			ratio = hand / seconds
		}
	}
	fmt.Fprintf(b.Stdout, "  %.2f\n", ratio)
	return ratio, b.drop(append(data.args, hubs)...)
}

// meet launches k until the form of the next launch follows from the lengths that these have met,
// and is compiled.
func (b *bench) meet(data *suiteData, k *devices.Kernel, args []devices.Arg) error {
	const launches, pause = 20, 50 * time.Millisecond
	if b.Quick {
		return nil
	}
	for range launches {
		if _, err := b.once(data, k, args); err != nil {
			return err
		}
		time.Sleep(pause)
	}
	return nil
}

// nestedByHand returns the result of the first launch by hand and the time of all of them, of the
// better number of lanes.
func (b *bench) nestedByHand(g *graph, c nestedCase, data *suiteData, launches [][]any, args func([]any) []devices.Arg, hubs devices.Arg) (want any, least float64, err error) {
	kernel := func(entry string, items int64) *devices.Kernel {
		return b.nativeKernel(reference{entry: entry, items: [3]int64{items}, team: [3]int64{256}}, nestedReference)
	}
	n := g.nodes()
	reset := b.nativeKernel(reference{entry: "clearhubs", items: [3]int64{1}, team: [3]int64{1}}, nestedReference)
	behind := kernel(c.hand+"team", 132*8*256)
	for _, lanes := range []int{8, 32} {
		rows := kernel(fmt.Sprint(c.hand, lanes), up(n*lanes, 256))
		sum := 0.0
		for i, l := range launches {
			all := append(args(l), whole(n), hubs)
			first, err := b.time(rows, repeats, all...)
			if err != nil {
				return nil, 0, err
			}
			if _, err := b.gpus[0].Time(&devices.Launch{Kernel: reset, Args: &devices.Args{List: []devices.Arg{hubs}}}, 1, 1); err != nil {
				return nil, 0, err
			}
			if _, err := b.once(data, rows, all); err != nil { // which saves the hubs, too
				return nil, 0, err
			}
			if err := await(b.gpus[0].Launch(&devices.Launch{Kernel: behind, Args: &devices.Args{List: all}}, nil)); err != nil {
				return nil, 0, err
			}
			if i == 0 {
				if err := b.fetch(data.args[data.out]); err != nil {
					return nil, 0, err
				}
				want = cloned(data.host[data.out])
			}
			second, err := b.time(behind, repeats, all...)
			if err != nil {
				return nil, 0, err
			}
			sum += first + second
		}
		if least == 0 || sum < least {
			least = sum
		}
	}
	return want, least, nil
}

// A graph is in compressed rows.
type graph struct {
	name       string
	start, col []int32
	most       int // greatest degree
}

func (g *graph) nodes() int { return len(g.start) - 1 }

// graphs are of n nodes: R-MAT, a web-like one, a grid, and edges at random.
func graphs(n int) []*graph {
	bits := 0
	for 1<<bits < n {
		bits++
	}
	makers := []func() *graph{
		func() *graph { return fromEdges("rmat", n, 16*n, recursive(bits)) },
		func() *graph { return fromEdges("web", n, 16*n, webLike(n)) },
		func() *graph { return gridGraph(n) },
		func() *graph {
			r := rand.New(rand.NewPCG(5, 6))
			return fromEdges("uniform", n, 16*n, func(int) (int32, int32) { return r.Int32N(int32(n)), r.Int32N(int32(n)) })
		},
	}
	out := make([]*graph, len(makers))
	var made sync.WaitGroup
	for i, f := range makers {
		made.Go(func() { out[i] = f() })
	}
	made.Wait()
	return out
}

// recursive gives the edges of R-MAT with probabilities 0.57, 0.19, 0.19 and 0.05. Source:
// Chakrabarti, Zhan and Faloutsos, R-MAT: a recursive model for graph mining, 2004.
func recursive(bits int) func(int) (int32, int32) {
	r := rand.New(rand.NewPCG(1, 2))
	return func(int) (int32, int32) {
		u, v, x := int32(0), int32(0), uint64(0)
		for i := range bits {
			if i%4 == 0 {
				x = r.Uint64()
			}
			p := (x & 0xffff) * 100 >> 16
			x >>= 16
			switch u, v = u<<1, v<<1; {
			case p < 57:
			case p < 76:
				v |= 1
			case p < 95:
				u |= 1
			default:
				u, v = u|1, v|1
			}
		}
		return u, v
	}
}

// webLike gives edges of which early nodes have more, three of four to nodes nearby.
func webLike(n int) func(int) (int32, int32) {
	r := rand.New(rand.NewPCG(3, 4))
	early := func() int {
		x := r.Float64()
		return int(float64(n) * x * x * x)
	}
	return func(int) (int32, int32) {
		u := early()
		if r.IntN(4) > 0 {
			return int32(u), int32(min(n-1, max(0, u+r.IntN(512)-256)))
		}
		return int32(u), int32(early())
	}
}

// fromEdges makes the rows of count edges.
func fromEdges(name string, n, count int, edge func(i int) (from, to int32)) *graph {
	g := &graph{name: name, start: make([]int32, n+1), col: make([]int32, count)}
	from, to := make([]int32, count), make([]int32, count)
	for i := range from {
		from[i], to[i] = edge(i)
		g.start[from[i]+1]++
	}
	for v := range n {
		g.most = max(g.most, int(g.start[v+1]))
		g.start[v+1] += g.start[v]
	}
	next := append([]int32{}, g.start...)
	for i, u := range from {
		g.col[next[u]] = to[i]
		next[u]++
	}
	return g
}

func gridGraph(n int) *graph {
	side := int(math.Sqrt(float64(n)))
	return fromEdges("grid", side*side, 4*side*side, func(i int) (int32, int32) {
		v := i / 4
		w := v + [4]int{1, -1, side, -side}[i%4]
		return int32(v), int32((w + side*side) % (side * side))
	})
}

// depths is a breadth-first search from the node with the most edges.
func (g *graph) depths() (depth []int32, levels int) {
	depth = make([]int32, g.nodes())
	root := int32(0)
	for v := range depth {
		depth[v] = math.MaxInt32
		if g.start[v+1]-g.start[v] > g.start[root+1]-g.start[root] {
			root = int32(v)
		}
	}
	depth[root] = 0
	for front := []int32{root}; len(front) > 0; levels++ {
		var next []int32
		for _, v := range front {
			for _, w := range g.col[g.start[v]:g.start[v+1]] {
				if depth[w] == math.MaxInt32 {
					depth[w] = int32(levels) + 1
					next = append(next, w)
				}
			}
		}
		front = next
	}
	return depth, levels
}

// nestedTolerance is how far sums in another order may be from want, as a part of its largest
// element.
func nestedTolerance(want any) float64 {
	if _, ok := want.([]float32); ok {
		return 1e-5
	}
	return 1e-9
}

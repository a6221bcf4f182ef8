package codegen_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/simt"
)

const slabKernels = `//omp:target device(acc)
//omp:task in(a, b) inout(c)
func K(n, m, l int, c, a, b []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			s := c[i*m+j]
			for k := 0; k < l; k++ {
				s += a[%A] * b[%B]
			}
			c[i*m+j] = s
		}
	}
}`

// Products in slabs give the bits of the Go loop, whatever their sizes, the transposes and the team.
func TestSlabs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ name, a, b string }{{"plain", "i*l+k", "k*m+j"}, {"transpose of b", "i*l+k", "j*l+k"},
		{"transpose of a", "k*n+i", "k*m+j"}, {"both", "k*n+i", "j*l+k"}} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, strings.NewReplacer("%A", c.a, "%B", c.b).Replace(slabKernels), codegen.LowerOptions{})
			require.NoError(t, err)
			require.Contains(t, l.Explain(), "slabs of 8 iterations in team memory")
			program, err := simt.New(l.Program)
			require.NoError(t, err)
			for seed, s := range []struct{ n, m, l, teams, threads int }{{1, 1, 1, 1, 32}, {9, 130, 7, 1, 64}, {17, 127, 8, 2, 64}, {65, 129, 9, 2, 256},
				{40, 33, 17, 3, 96}, {3, 2, 0, 1, 32}, {0, 5, 5, 1, 32}, {20, 260, 24, 0, 0}} {
				a, b, want := randoms(r, s.n*s.l), randoms(r, s.m*s.l), randoms(r, s.n*s.m)
				got := append([]float32{}, want...)
				for i := range s.n {
					for j := range s.m {
						for k := range s.l {
							x, y := i*s.l+k, k*s.m+j
							if strings.HasPrefix(c.a, "k") {
								x = k*s.n + i
							}
							if strings.HasPrefix(c.b, "j") {
								y = j*s.l + k
							}
							want[i*s.m+j] += float32(a[x] * b[y])
						}
					}
				}
				cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(seed), Races: true}
				require.NoError(t, runDevice(program, []any{s.n, s.m, s.l, got, a, b}, cfg), "%+v", s)
				require.Equal(t, want, got, "%+v", s)
			}
		})
	}
}

func randoms(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = r.Float32() - 0.5
	}
	return out
}

// What inner loops read beside elements of their row and of their column keeps a block out of slabs, unless it is the same in
// every turn.
func TestWhatRunsInSlabs(t *testing.T) {
	for _, c := range []struct {
		name, body string
		slabs      bool
	}{
		{"product", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] * y[k*n+j] }; z[i*n+j] = s", true},
		{"added to memory", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] * y[k*n+j] }; z[i*n+j] += s", true},
		{"distance", "s := 0.0; for k := 0; k < n; k++ { d := x[i*n+k] - y[j*n+k]; s += d * d }; z[i*n+j] = s", true},
		{"every second", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+2*k] * y[k*n+j] }; z[i*n+j] = s", true},
		{"two sums", "s, u := 0.0, 0.0; for k := 0; k < n; k++ { s += x[i*n+k] * y[k*n+j]; u += x[i*n+k] }; z[i*n+j] = s * u", true},
		{"two loops", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] * y[k*n+j] }; for k := 0; k < m; k++ { s -= y[i*n+k] * x[k*n+j] }; z[i*n+j] = s", true},
		{"many sums", "a, b, c, d, e, f := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0; for k := 0; k < n; k++ { a += x[i*n+k] * y[k*n+j]; b += a; c += b; d += c; e += d; f += e }; z[i*n+j] = f", false},
		{"a row alone", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] }; z[i*n+j] = s", false},
		{"of row and column", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] * y[k*n+i+j] }; z[i*n+j] = s", false},
		{"of the row alone", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] * y[k*n+j] * y[i] }; z[i*n+j] = s", true},
		{"every second turn", "s := 0.0; for k := 0; k < n; k += 2 { s += x[i*n+k] * y[k*n+j] }; z[i*n+j] = s", false},
		{"a store in front", "z[i*n+j] = 0; s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] * y[k*n+j] }; z[i*n+j] = s", false},
		{"a row that may not be there", "s := 0.0; for k := 0; k < n; k++ { s += x[i*n+k] * y[k*n+j] / float64(7/(i+1)) }; z[i*n+j] = s", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, `//omp:target device(acc) check(none)
//omp:task inout(z) in(x, y)
func K(x, y, z []float64, n, m int) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			`+c.body+`
		}
	}
}`, codegen.LowerOptions{})
			require.NoError(t, err)
			require.Equal(t, c.slabs, strings.Contains(l.Explain(), "slabs of 8 iterations in team memory"), "%s\n%s", l.Explain(), l.Program)
		})
	}
}

// Rows of a nest, rims and sides of what slabs hold are taken apart as each name says, and without
// the checks that the host makes the bits are those of the Go function, too.
func TestBlocks_UncheckedEqualsGo(t *testing.T) {
	p := loadCorpus(t)
	for _, c := range []struct {
		kernel   any
		strategy string
	}{{BlockManyRows, "rows"}, {BlockManyLanes, "lanes"}, {BlockTorus, "blocks"}, {BlockRing, "blocks"}, {BlockClamped, "blocks"},
		{BlockWeighted, "blocks"}, {BlockMixed, "blocks"}, {BlockFilter, "blocks"}, {BlockFluxes, "blocks"},
		{BlockTaps, "points"}, {BlockShortRows, "rows"},
		{BlockProducts, "blocks"}, {BlockInverses, "records"},
		{BlockReversed, "records"}, {BlockRounds, "records"}, {BlockSome, "records"}} {
		t.Run(name(c.kernel), func(t *testing.T) {
			t.Parallel()
			k, err := p.Kernel(name(c.kernel))
			require.NoError(t, err)
			free := codegen.NewContract(k).Unchecked(k)
			require.NotNil(t, free)
			l, err := codegen.Lower(free, codegen.LowerOptions{})
			require.NoError(t, err)
			require.Contains(t, l.Strategies, c.strategy)
			if name(c.kernel) == "BlockShortRows" {
				require.Contains(t, l.Explain(), "128 threads take 128 iterations at once")
			}
			corpusCaseOf(t, c.kernel).compare(t, l.Program, false)
		})
	}
}

// A thread takes neighbouring columns where rows, and what is stored, begin at multiples of what it
// accesses at once.
func TestBlocks_NeighbouringColumns(t *testing.T) {
	for _, c := range []struct {
		name, loop, body string
		near             bool
	}{
		{"filter", "for i := 0; i < n-8; i++", "for k := 0; k < 8; k++ { s += f[k] * x[i+k] }; y[i] = s", true},
		{"stored beside it", "for i := 4; i < n-8; i++", "for k := 0; k < 8; k++ { s += f[k] * x[i+k] }; y[i+1] = s", false},
		{"from beside it", "for i := 1; i < n-8; i++", "for k := 0; k < 8; k++ { s += f[k] * x[i+k] }; y[i] = s", true},
		{"what neighbours compute alike", "for i := 1; i < n-8; i++", "s = g(x[i], x[i+1]) - g(x[i-1], x[i]); y[i] = s", true},
		{"at times", "for i := 0; i < n-8; i++", "for k := 0; k < 8; k++ { s += f[k] * x[i+k] }; if s > 0 { y[i] = s }", false},
		{"every other", "for i := 0; i < n-8; i++", "for k := 0; k < 8; k++ { s += f[k] * x[2*i+k] }; y[i] = s", false},
		{"nothing shared", "for i := 0; i < n; i++", "s = x[i]; y[i] = s * f[0]", false},
		{"two sizes", "for i := 0; i < n-8; i++", "for k := 0; k < 8; k++ { s += float32(z[k]) * x[i+k] }; y[i] = s + float32(z[i])", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, `//omp:target device(acc) contract
//omp:task in(x, f, z) inout(y)
func K(n int, x, f, y []float32, z []float64) {
	//omp:teams distribute parallel for
	`+c.loop+` {
		var s float32
		`+c.body+`
	}
}

func g(a, b float32) float32 {
	c := (a*b+3)*(a-b)*(a+2*b)*(b*b-a) + (a-3*b)*(b+4)*(2*a-b)*(a*a-b)
	return (c*a-b)*(c*b-a)*(c+a*b) - (c-a)*(c-b)*(c-2)
}`, codegen.LowerOptions{})
			require.NoError(t, err)
			require.Equal(t, c.near, strings.Contains(l.Explain(), "4 neighbouring columns"), l.Explain())
		})
	}
}

// Where the record that is written is the one that is read, or overlaps it, no element is loaded
// before its time.
func TestRecords_Overlap(t *testing.T) {
	const n = 100
	key := []uint32{3, 1, 4, 1, 5, 9, 2, 6}
	table := simt.Arg{Memory: memoryOfAll("key", key), Len: 8, Cap: 8}
	for _, c := range []struct {
		kernel any
		run    func(x, y []uint32)
		args   []simt.Arg
	}{
		{BlockReversed, func(x, y []uint32) { BlockReversed(n, x, y) }, []simt.Arg{{Bits: n}}},
		{BlockRounds, func(x, y []uint32) { BlockRounds(n, key, x, y) }, []simt.Arg{{Bits: n}, table}},
	} {
		k, err := loadCorpus(t).Kernel(name(c.kernel))
		require.NoError(t, err)
		l, err := codegen.Lower(codegen.NewContract(k).Unchecked(k), codegen.LowerOptions{})
		require.NoError(t, err)
		require.Contains(t, l.Strategies, "records")
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		for _, shift := range []int{0, 8 * n} {
			all := make([]uint32, 16*n)
			for i := range all {
				all[i] = uint32(i) * 2654435761
			}
			want := slices.Clone(all)
			c.run(want[:8*n], want[shift:shift+8*n])
			got := slices.Clone(all)
			memory := memoryOfAll("both", got)
			slice := func(at int) simt.Arg {
				return simt.Arg{Memory: memory, Offset: int64(at) * 4, Len: 8 * n, Cap: 8 * n}
			}
			_, err := program.Run(append(c.args, slice(0), slice(shift)), simt.Config{Teams: 3, Threads: 64})
			require.NoError(t, err)
			require.Equal(t, want, got, "%s, shift %d", k.Name, shift)
		}
	}
}

// An interior that conditions cut out of a space asks of slices that they have its elements, and no
// more: the version without checks runs where they are as long as the space.
func TestVersion_InteriorOfExactSlices(t *testing.T) {
	for _, c := range []struct{ name, loops string }{
		{"numbered", `for p := 0; p < n*n*n; p++ {
		i, j, k := p/(n*n), p/n%n, p%n
		if i > 0 && i < n-1 && j > 0 && j < n-1 && k > 0 && k < n-1 {
			y[p] = x[p-1] + x[p+1] + x[p-n] + x[p+n] + x[p-n*n] + x[p+n*n]
		}
	}`},
		{"one loop", `for i := 0; i < n; i++ {
		if i >= 2 && i < n-2 {
			y[i] = x[i-2] + x[i+2]
		}
	}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, `//omp:target device(acc)
//omp:task inout(y) in(x)
func K(n int, x, y []float32) {
	//omp:teams distribute parallel for
	`+c.loops+`
}`, codegen.LowerOptions{})
			require.NoError(t, err)
			_, guards := cuda.Proved(l.Program)
			require.NotEmpty(t, guards)
			const n = 9
			exact, short := make([]float32, n*n*n), make([]float32, n*n*n-n*n-n-2)
			if c.name == "one loop" {
				exact, short = exact[:n], short[:n-3]
			}
			require.True(t, hold(guards, valuesOf(l.Program, []any{n, exact, exact})), "%v", guards)
			require.False(t, hold(guards, valuesOf(l.Program, []any{n, short, exact})), "%v", guards)
		})
	}
}

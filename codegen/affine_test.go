package codegen_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// affineKernel loads a kernel K(n, m, k int, x []int32) with a body; head stands in front of the function.
func affineKernel(t rapid.TB, head, body string) *ir.Kernel {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\nfunc at(j, k, w int) int { return j*w + k }\n\nfunc fill(s []int32, n int) {\n" +
		"for q := 0; q < n; q++ {\ns[q]++\n}\n}\n\n//omp:target device(acc)\n" + head + "\nfunc K(n, m, k int, x []int32) {\n" + body + "\n}\n"})
	require.NoError(t, err, body)
	kernel, err := p.Kernel("K")
	require.NoError(t, err)
	return kernel
}

// TestProves_EveryForm has accesses that the host proves, at the least length with which they are right, and not with one element less
// (issue 16 14).
func TestProves_EveryForm(t *testing.T) {
	for _, c := range []struct {
		name, body string
		n, m, k    int
		length     int
	}{
		{"teams and threads", "//omp:teams distribute\nfor j := 0; j < n; j++ {\n//omp:parallel for\nfor i := 0; i < 256; i++ {\nx[j*256+i]++\n}\n}", 5, 0, 0, 1280},
		{"three parameters", "for i := 0; i < n; i++ {\nfor j := 0; j < m; j++ {\nfor l := 0; l < k; l++ {\nx[(i*m+j)*k+l]++\n}\n}\n}", 3, 4, 5, 60},
		{"squares", "for i := 0; i < n; i++ {\nfor j := 0; j < m; j++ {\nx[(i*m+j)*m+k]++\n}\n}", 3, 4, 2, 47},
		{"helper", "for i := 0; i < n; i++ {\nfor j := 0; j < m; j++ {\nx[at(i, j, m)]++\n}\n}", 3, 4, 0, 12},
		{"part", "for i := 0; i < n; i++ {\nfill(x[i*m:(i+1)*m], m)\n}", 3, 4, 0, 12},
		{"open part", "for i := 0; i < n; i++ {\nfill(x[i*m:], k)\n}", 3, 4, 2, 10},
		{"red and black", "for i := 1; i < n-1; i++ {\nfor j := 1 + (i+k)%2; j < n-1; j += 2 {\nx[i*n+j] = x[i*n+j-1] + x[(i+1)*n+j]\n}\n}", 6, 0, 1, 35},
		{"triangle", "for i := 0; i < n; i++ {\nfor j := 0; j <= i; j++ {\nx[i*n+j]++\n}\n}", 6, 0, 0, 36},
		{"doubling", "for d := 1; d < n; d *= 2 {\nx[d]++\n}", 10, 0, 0, 10},
		{"halving", "for d := n; d > 0; d >>= 1 {\nx[d-1]++\n}", 10, 0, 0, 10},
		{"steps", "for i := 0; i < n; i += 3 {\nx[i]++\n}", 10, 0, 0, 10},
		{"steps of a parameter", "for i := 0; i < n; i += m {\nx[i]++\n}", 10, 3, 0, 10},
		{"down", "for i := n - 1; i >= 0; i -= 2 {\nx[i+k]++\n}", 10, 0, 3, 13},
		{"condition", "for i := 0; i < n; i++ {\nif i > 0 && i < n-1 {\nx[i-1]++\nx[i+1]++\n}\n}", 10, 0, 0, 10},
		{"sum in a condition", "for i := 0; i < n; i++ {\nif i+k < m {\nx[i+k]++\n}\n}", 10, 6, 2, 6},
		{"remainder", "for i := 0; i < n; i++ {\nx[i%m]++\n}", 10, 6, 0, 6},
		{"quotient", "for i := 0; i < n; i++ {\nx[i/m*m+i%m]++\n}", 12, 6, 0, 12},
		{"clamped", "for i := 0; i < n; i++ {\nx[min(i+5, n-1)] += x[max(i-5, 0)]\n}", 12, 0, 0, 12},
		{"narrow", "for i := int32(0); i < int32(n); i++ {\nx[i*int32(m)]++\n}", 4, 5, 0, 16},
		{"tiles", "for ii := 0; ii < n; ii += 8 {\nfor i := ii; i < min(ii+8, n); i++ {\nx[i]++\n}\n}", 19, 0, 0, 19},
		{"quotient and rest", "for i := 0; i < n; i++ {\nx[i/m*m+i%m]++\n}", 13, 6, 0, 13},
		{"pairs", "for i := 0; i < n; i++ {\nx[i<<1|1] = x[i<<1]\n}", 5, 0, 0, 10},
		{"quads", "for i := 0; i < n; i++ {\nfor j := 0; j < 7; j++ {\nx[i*4|j&3]++\n}\n}", 5, 0, 0, 20},
		{"bits rejoined", "for i := 0; i < n; i++ {\nx[i>>2<<2|i&3]++\nx[i&^3+i&3]++\n}", 7, 0, 0, 7},
		{"neighbour in a pair", "for i := 0; i < n; i++ {\nx[i^1]++\n}", 8, 0, 0, 8},
		{"last of a quad", "for i := 0; i < n; i++ {\nx[i|3]++\n}", 8, 0, 0, 8},
		{"aligned", "for i := 0; i < n; i++ {\nx[i&-4+3]++\n}", 8, 0, 0, 8},
		{"down by a parameter", "for i := n; i >= 0; i -= m {\nx[i]++\n}", 10, 3, 0, 11},
		{"down to one by a parameter", "for i := n; i > 0; i += -m {\nx[i-1]++\n}", 10, 3, 0, 10},
		{"threads down by a parameter", "//omp:teams distribute parallel for\nfor i := n; i > 0; i -= m {\nx[i-1]++\n}", 10, 3, 0, 10},
		{"zero trips", "for i := 0; i < n; i++ {\nfor j := 0; j < m; j++ {\nx[i*k+j]++\n}\n}", 9, 0, 1 << 40, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := affineKernel(t, "//omp:task inout(x)", c.body)
			contract := codegen.NewContract(k)
			free := contract.Unchecked(k)
			require.NotNil(t, free)
			require.NotContains(t, free.String(), "?", "no check is left")
			proves := func(length int) bool {
				var p codegen.Proof
				p.Load(k, contract, valuesOf(&ir.Program{Params: k.Params}, []any{c.n, c.m, c.k, make([]int32, length)}))
				return p.Proves()
			}
			require.True(t, proves(c.length))
			require.False(t, c.length > 0 && proves(c.length-1))
		})
	}
}

// TestContract_EndsOfInt64 has launches at the ends of 64 bits: what Go runs without an error is not refused, and what it does not is not proved
// (issue 16 14).
func TestContract_EndsOfInt64(t *testing.T) {
	const most, least = math.MaxInt64, math.MinInt64
	for _, c := range []struct {
		name, body string
		n, m, k    int
		length     int
		fine       bool
	}{
		{"bound wraps", "for i := 0; i < n+1; i++ {\nx[i]++\n}", most, 0, 0, 3, true},
		{"bound wraps up", "for i := 0; i < n-1; i++ {\nx[i]++\n}", least, 0, 0, 3, false},
		{"product wraps to zero", "for i := 0; i < n; i++ {\nx[i*m*k]++\n}", 2, 1 << 32, 1 << 32, 1, true},
		{"product wraps", "for i := 0; i < n; i++ {\nx[i*m+k]++\n}", 3, 1 << 62, 1 << 62, 4, false},
		{"wraps back", "for i := 0; i < n; i++ {\nx[i+m-k]++\n}", 3, most, most, 3, true},
		{"sum wraps in a condition", "for i := 0; i < n; i++ {\nif i+k < m {\nx[i+k]++\n}\n}", 3, 2, most, 3, false},
		{"no iteration", "for i := 0; i < n; i++ {\nx[i+k]++\n}", 0, 0, most, 0, true},
		{"no inner iteration", "for i := 0; i < n; i++ {\nfor j := 0; j < m; j++ {\nx[i*k+j]++\n}\n}", 5, -3, most, 0, true},
		{"negative stride", "for i := 0; i < n; i++ {\nx[i*m+k]++\n}", 4, -2, 6, 7, true},
		{"negative stride leaves", "for i := 0; i < n; i++ {\nx[i*m+k]++\n}", 5, -2, 6, 7, false},
		{"int8 wraps", "for i := 0; i < n; i++ {\nx[int8(i)]++\n}", 200, 0, 0, 1000, false},
		{"int8 wraps to itself", "for i := m; i < n; i++ {\nx[int8(i)]++\n}", 300, 256, 0, 50, true},
		{"product of int32 wraps", "for i := int32(0); i < 2; i++ {\nx[i*int32(n)+int32(n)]++\n}", 1 << 30, 0, 0, 1, false},
		{"step is zero", "for i := 0; i < n; i += m {\nx[i]++\nif x[i] > 5 {\nx[i-1]++\n}\n}", 3, 0, 0, 3, false},
		{"step down is zero", "for i := n; i > 0; i -= m {\nx[i]++\nif x[i] > 5 {\nx[i+1]++\n}\n}", 2, 0, 0, 3, false},
		{"step down leads up", "for i := n; i >= 0; i -= m {\nx[i]++\n}", 2, -1, 0, 3, false},
		{"step down is the least int", "for i := n; i >= 0; i -= m {\nx[i]++\n}", 2, least, 0, 3, true},
		{"huge part", "y := x[k:n]\nif len(y) > 0 {\ny[0]++\n}", most, 0, most - 1, 3, false},
		{"part wraps", "y := x[n+k : n+m]\nif len(y) > 0 {\ny[0]++\n}", most, 1, 1, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := affineKernel(t, "//omp:task inout(x)", c.body)
			args := func() []any { return []any{c.n, c.m, c.k, make([]int32, c.length)} }
			whole := simulated(t, k, c.body)
			err := runDevice(whole, args(), simt.Config{Teams: 1, Threads: 1, Steps: 1 << 16})
			require.Equal(t, c.fine, err == nil, "%v", err)
			contract := codegen.NewContract(k)
			var p codegen.Proof
			p.Load(k, contract, valuesOf(&ir.Program{Params: k.Params}, args()))
			if refused := p.Lengths(); c.fine {
				require.NoError(t, refused)
			}
			if contract.Unchecked(k) != nil && !c.fine {
				require.False(t, p.Proves())
			}
		})
	}
}

// TestTestsOfLocals_AreTheHosts has a stencil whose rows have a length that a local variable holds: the host makes the test that chooses between
// its two versions, and one of two launches runs (issue 16 16).
func TestTestsOfLocals_AreTheHosts(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: `package k

//omp:target device(acc)
//omp:task inout(x) in(y)
func Stencil(n int, x, y []float64) {
	w := n + 2
	for i := 1; i <= n; i++ {
		for j := 1; j <= n; j++ {
			x[i*w+j] = y[i*w+j] + y[i*w+j-1] + y[i*w+j+1] + y[(i+1)*w+j] + y[(i-1)*w+j]
		}
	}
}
`})
	require.NoError(t, err)
	program := lowerKernel(t, p, "Stencil", codegen.LowerOptions{}).Program
	require.Len(t, program.Launches, 2)
	require.Empty(t, program.Scratch)
	env := valuesOf(program, []any{5, make([]float64, 49), make([]float64, 49)})
	var runs []bool
	for _, l := range program.Launches {
		require.NotNil(t, l.When)
		runs = append(runs, hold([]ir.Expr{l.When}, env))
	}
	require.Equal(t, []bool{true, false}, runs)
}

// inferredBoxes evaluates the inferred regions of a kernel, as text with mode, extents and ends.
func inferredBoxes(t testing.TB, k *ir.Kernel, args []any) []string {
	t.Helper()
	env := valuesOf(&ir.Program{Params: k.Params}, args)
	var out []string
	for _, a := range k.Task.Accesses {
		length, _, _ := env.Slice(a.Region.Var)
		boxes, err := codegen.EvalRegion(a.Region, length, env)
		require.NoError(t, err)
		for _, b := range boxes {
			text := a.Mode.String() + " " + a.Region.Var.Name
			for d := range b.Lo {
				text += "[" + itoa(b.Lo[d]) + ":" + itoa(b.Hi[d]) + "]"
			}
			out = append(out, text)
		}
	}
	return out
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// TestInferredAccesses_RowMajor has boxes of matrices without a shape: exact ones where the columns stay in their rows, else all (issue 16 15).
func TestInferredAccesses_RowMajor(t *testing.T) {
	stencil := "for i := m; i < k; i++ {\nfor j := 1; j < n-1; j++ {\nx[i*n+j] += x[(i-1)*n+j] + x[(i+1)*n+j] + x[i*n+j-1] + x[i*n+j+1]\n}\n}"
	halo := "w := n + 2\nfor i := m; i < k; i++ {\nfor j := 1; j <= n; j++ {\nx[i*w+j]++\n}\n}"
	for _, c := range []struct {
		name, body string
		n, m, k    int
		length     int
		want       []string
	}{
		{"stencil", stencil, 10, 2, 5, 100, []string{"in x[1:6][0:10]", "out x[2:5][1:9]"}},
		{"stencil without rows", stencil, 10, 5, 5, 100, nil},
		{"columns", "for i := 0; i < n; i++ {\nfor j := m; j < k; j++ {\nx[i*10+j] = 1\n}\n}", 6, 3, 7, 100, []string{"inout x[3:57]"}},
		{"tile", "for i := 2; i < 4; i++ {\nfor j := m; j < k; j++ {\nx[i*n+j] = 1\n}\n}", 10, 3, 7, 100, []string{"out x[2:4][3:7]"}},
		{"tile past its row", "for i := 2; i < 4; i++ {\nfor j := m; j < k; j++ {\nx[i*n+j] = 1\n}\n}", 10, 3, 12, 100, []string{"inout x[0:100]"}},
		{"tile in a row that ends behind it", "for i := 2; i < 10; i++ {\nfor j := m; j < k; j++ {\nx[i*n+j] = 1\n}\n}", 10, 3, 7, 97, []string{"out x[2:10][3:7]"}},
		{"tile in a row that ends early", "for i := 2; i < 10; i++ {\nfor j := m; j < k; j++ {\nx[i*n+j] = 1\n}\n}", 10, 3, 7, 96, []string{"inout x[0:96]"}},
		{"halo", halo, 8, 2, 5, 100, []string{"inout x[2:5][1:9]"}},
		{"column", "for i := m; i < k; i++ {\nx[i*n] = 1\n}", 10, 2, 5, 100, []string{"out x[2:5][0:1]"}},
		{"helper", "for i := m; i < k; i++ {\nfor j := 1; j < 4; j++ {\nx[at(i, j, n)] = 1\n}\n}", 10, 2, 5, 100, []string{"out x[2:5][1:4]"}},
		{"planes in one that ends behind them", "for i := 1; i < 3; i++ {\nfor j := 2; j < 4; j++ {\nfor l := 0; l < k; l++ {\nx[(i*m+j)*n+l] = 1\n}\n}\n}", 5, 5, 3, 68, []string{"out x[1:3][2:4][0:3]"}},
		{"planes in one that ends early", "for i := 1; i < 3; i++ {\nfor j := 2; j < 4; j++ {\nfor l := 0; l < k; l++ {\nx[(i*m+j)*n+l] = 1\n}\n}\n}", 5, 5, 3, 67, []string{"inout x[0:67]"}},
		// An outside trial found a device that touched what it was not given: the place of a reduction of no iterations.
		{"reduction of no iteration", "//omp:teams distribute parallel for reduction(+: x[4])\nfor i := 0; i < n; i++ {\nx[4] += int32(i)\n}", 0, 0, 0, 9, []string{"inout x[4:5]"}},
		{"reduction into a slice that is too short", "//omp:teams distribute parallel for reduction(+: x[4])\nfor i := 0; i < n; i++ {\nx[4] += int32(i)\n}", 0, 0, 0, 4, nil},
		{"reductions of rows of no columns", "//omp:teams distribute\nfor i := 0; i < n; i++ {\n//omp:parallel for reduction(max: x[i])\nfor j := 0; j < m; j++ {\nif int32(j) > x[i] {\nx[i] = int32(j)\n}\n}\n}", 5, 0, 0, 9, []string{"inout x[0:5]"}},
		{"reduction of a nest of no columns", "//omp:teams distribute parallel for collapse(2) reduction(+: x[m])\nfor i := 0; i < n; i++ {\nfor j := 0; j < m; j++ {\nx[m]++\n}\n}", 5, 0, 0, 9, []string{"inout x[0:1]"}},
		{"reduction of a region", "//omp:parallel reduction(+: x[k])\n{\n//omp:for\nfor i := 0; i < n; i++ {\nx[k]++\n}\n}", 0, 0, 3, 9, []string{"in x[3:4]", "inout x[3:4]"}},
		{"reduction through a helper", "//omp:teams distribute parallel for reduction(+: x[k])\nfor i := 0; i < n; i++ {\nx[k] += int32(at(i, m, n))\n}", 0, 0, 3, 9, []string{"inout x[3:4]"}},
		{"planes", "for i := 1; i < 3; i++ {\nfor j := 2; j < 4; j++ {\nfor l := 0; l < k; l++ {\nx[(i*m+j)*n+l] = 1\n}\n}\n}", 5, 5, 3, 125, []string{"out x[1:3][2:4][0:3]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := affineKernel(t, "//omp:task", c.body)
			require.True(t, k.Task.Inferred)
			require.ElementsMatch(t, c.want, inferredBoxes(t, k, []any{c.n, c.m, c.k, make([]int32, c.length)}), "%s", k)
		})
	}
}

// TestExplainAccesses_SaysWhy has the reason of an access that is all of a parameter (issue 16 15).
func TestExplainAccesses_SaysWhy(t *testing.T) {
	k := affineKernel(t, "//omp:task", "for i := 0; i < n; i++ {\nx[x[i]&7] = 1\n}")
	require.Equal(t, []string{"access inout(x) -> inferred, all of it: the index of x[x[i] & 7] (k.go:15:3) is not a sum of products of parameters and loop variables"},
		codegen.ExplainAccesses(k))
	k = affineKernel(t, "//omp:task inout(x[0:n])", "for i := 0; i < n; i++ {\nx[i] = 1\n}")
	require.Equal(t, []string{"accesses inout(x[0:n]) -> declared"}, codegen.ExplainAccesses(k))
}

// TestInferredAccesses_AreMinToMax compares inferred boxes with the elements that are touched: each is from the least to the greatest row and column
// where no column leaves its row, else all (issue 16 15).
func TestInferredAccesses_AreMinToMax(t *testing.T) {
	boxed := 0
	rapid.Check(t, func(rt *rapid.T) {
		number := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(rt, "number") }
		rowSteps, colSteps := number(1, 2), number(1, 3)
		rows, cols := []int{number(-1, 1), number(-1, 1)}, []int{number(-1, 1), number(-2, 2)}
		var body strings.Builder
		fmt.Fprintf(&body, "for i := m; i < k; i += %d {\nfor j := 2; j < n; j += %d {\n", rowSteps, colSteps)
		for u := range rows {
			fmt.Fprintf(&body, "x[(i+%d)*10+j+%d]++\n", rows[u], cols[u])
		}
		text := strings.ReplaceAll(body.String()+"}\n}", "*10", "*w")
		k := affineKernel(rt, "//omp:task", "w := 2*n + 1\n"+text)
		n, m := number(0, 6), number(1, 3)
		to, w, length := m+number(0, 4), 2*n+1, 0
		touched, inRows := map[int]bool{}, true
		boxes := make([][4]int, 2)
		for u := range rows {
			boxes[u] = [4]int{1 << 20, -1, 1 << 20, -1}
			lastRow, lastCol := 0, 0
			for i := m; i < to; i += rowSteps {
				for j := 2; j < n; j += colSteps {
					touched[(i+rows[u])*w+j+cols[u]] = true
					length = max(length, (i+rows[u])*w+j+cols[u]+1)
					lastRow, lastCol = max(lastRow, i+rows[u]), max(lastCol, j+cols[u])
					boxes[u][0], boxes[u][2] = min(boxes[u][0], i+rows[u]), min(boxes[u][2], j+cols[u])
				}
			}
			boxes[u][1], boxes[u][3] = lastRow, lastCol
		}
		length = (length + w - 1) / w * w
		env := valuesOf(&ir.Program{Params: k.Params}, []any{n, m, to, make([]int32, length)})
		held := map[int]bool{}
		for _, a := range k.Task.Accesses {
			list, err := codegen.EvalRegion(a.Region, int64(length), env)
			require.NoError(rt, err)
			for _, b := range list {
				if len(b.Shape) == 1 {
					inRows = false
					for at := b.Lo[0]; at < b.Hi[0]; at++ {
						held[int(at)] = true
					}
					continue
				}
				for i := b.Lo[0]; i < b.Hi[0]; i++ {
					for j := b.Lo[1]; j < b.Hi[1]; j++ {
						held[int(i)*w+int(j)] = true
					}
				}
			}
		}
		for at := range touched {
			require.True(rt, held[at], "element %d of %d with n=%d m=%d k=%d of\n%s", at, length, n, m, to, k)
		}
		if !inRows || len(touched) == 0 {
			return
		}
		boxed++
		lo, hi := min(boxes[0][2], boxes[1][2]), max(boxes[0][3], boxes[1][3])
		for at := range held { // steps may leave out the last ones
			require.True(rt, at/w >= min(boxes[0][0], boxes[1][0]) && at/w <= max(boxes[0][1], boxes[1][1])+rowSteps-1 && at%w >= lo && at%w <= hi+colSteps-1,
				"element %d is not around what is touched, with n=%d m=%d k=%d of\n%s", at, n, m, to, k)
		}
	})
	require.Positive(t, boxed)
}

// TestTriangles_AreIndependent has rows that end at the diagonal: no two overlap where a row is as long as the loop (issue 16 15).
func TestTriangles_AreIndependent(t *testing.T) {
	for _, body := range []string{
		"for i := 0; i < n; i++ {\nfor j := 0; j <= i; j++ {\nx[i*n+j] = 2\n}\n}",
		"for i := 0; i < n; i++ {\nfor j := i; j < n; j++ {\nx[i*n+j] = 2\n}\n}",
		"for i := 0; i < n; i++ {\nfor j := 0; j < i; j++ {\nx[i*m+j] = 2\n}\n}",
	} {
		l, err := codegen.Lower(affineKernel(t, "//omp:task inout(x)", body), codegen.LowerOptions{})
		require.NoError(t, err)
		require.Contains(t, l.Explain(), "loop i -> teams: the compiler proved its iterations independent", body)
	}
}

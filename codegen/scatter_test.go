package codegen_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// TestScatteredUpdates_AreWarnedOf: counts[v[i]]++ without an atomic was let through without a word.
func TestScatteredUpdates_AreWarnedOf(t *testing.T) {
	const all = "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ "
	for _, c := range []struct {
		name, body string
		warned     bool
	}{
		{"histogram", all + "{ x[v[i]]++ }", true},
		{"histogram of floats", all + "{ x[int(f[i])]++ }", true},
		{"by a local", all + "{\nb := v[i] & 7\nx[b] += 1\n}", true},
		{"by a helper", all + "{\nx[bin(v[i])] += 1\n}", true},
		{"in a helper", all + "{\nadd(x, v[i], 1)\n}", true},
		{"through a pointer", all + "{\np := &x[v[i]]\n*p += 1\n}", true},
		{"by a changing local", all + "{\nfor p := v[i]; p >= 0; p = u[p] { x[p] += 1 }\n}", true},
		{"of columns", all + "{\nfor k := v[i]; k < v[i+1]; k++ { x[u[k]] += i }\n}", true},
		{"largest", all + "{\nif x[v[i]] < i { x[v[i]] = i }\n}", true},
		{"of structs", all + "{ c[v[i]].n += 1 }", true},
		{"of a computed place", all + "{ x[int(math.Sqrt(float64(i)))] += 1 }", true},
		{"simd", "//omp:simd\nfor i := 0; i < n; i++ { x[v[i]]++ }", true},
		{"team's table", "//omp:teams distribute\nfor k := 0; k < n; k++ {\nvar h [8]int\n//omp:parallel for\nfor i := 0; i < n; i++ { h[v[k*n+i]&7]++ }\nx[k] = h[0]\n}", true},
		{"one place", all + "{ x[v[0]] += i }", true},

		{"atomic", all + "{\n//omp:atomic\nx[v[i]]++\n}", false},
		{"array", all + "{ h[v[i]]++ }", true},
		{"reduction", "//omp:teams distribute parallel for reduction(+: *h)\nfor i := 0; i < n; i++ { h[v[i]]++ }", false},
		{"silenced", all + "{ x[v[i]]++ //nolint:gompss\n}", false},
		{"store", all + "{ x[v[i]] = i }", false},
		{"gather", all + "{ x[i] += u[v[i]] }", false},
		{"a row of its own", all + "{ x[i*8+v[i]&7]++ }", false},
		{"a row of its own by a slice", all + "{\nr := x[i*8 : i*8+8]\nr[v[i]&7]++\n}", false},
		{"a row of its own by a pointer", all + "{\np := &c[i]\np.t[v[i]&7]++\n}", false},
		{"a table of its own", all + "{\nvar h [8]int\nh[v[i]&7]++\nx[i] = h[0]\n}", false},
		{"rows by offsets", all + "{\nfor k := v[i]; k < v[i+1]; k++ { x[k] *= 2 }\n}", false},
		{"a ticket", all + "{\nvar at int\n//omp:atomic capture\n{\nat = *s\n*s++\n}\nx[at] += i\n}", false},
		{"one iteration", all + "{\nif i == 3 { x[v[i]]++ }\n}", false},
		{"descriptive", "//omp:loop\nfor i := 0; i < n; i++ { x[v[i]]++ }", false},
		{"no directive", "for i := 0; i < n; i++ { x[v[i]]++ }", false},
		{"in order inside", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nfor j := 0; j < 8; j++ { x[i*8+v[j]] += 1 }\n}", false},
	} {
		text := "package k\n\nimport \"math\"\n\nvar _ = math.Pi\n\ntype cell struct {\n\tn int\n\tt [8]int\n}\n\nfunc bin(v int) int { return v / 3 }\n\nfunc add(x []int, at, by int) { x[at] += by }\n\n" +
			"//omp:target device(acc, smp)\n//omp:task in(v, u, f) inout(x, c, *s, *h)\nfunc K(n int, x, v, u []int, f []float64, c []cell, s *int, h *[8]int) {\n" + c.body + "\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err, c.name)
		said := warnings(p)
		require.Equal(t, c.warned, strings.Contains(said, "may name the same") || strings.Contains(said, "write the same"), "%s: %s", c.name, said)
	}
}

// Updates are cut into parts where their order does not show, and where nothing else in the iteration
// does.
func TestUpdates_AreCutIntoParts(t *testing.T) {
	for _, c := range []struct {
		name, loop string
		cut        bool
	}{
		{"counts", "for j := 0; j < n; j++ {\n//omp:atomic\ncount[int(x[i]+x[j])&7]++\n}", true},
		{"two operations on two slices", "for j := 0; j < n; j++ {\nif x[j] > x[i] {\n//omp:atomic\ncount[j&7] -= 2\n//omp:atomic\nbits[j&7] ^= i\n}\n}", true},
		{"two operations on one slice", "for j := 0; j < n; j++ {\n//omp:atomic\ncount[j&7]++\n//omp:atomic\ncount[j&7] ^= 5\n}", false},
		{"floats", "for j := 0; j < n; j++ {\n//omp:atomic\nx[j&7] += 1\n}", false},
		{"a value from one iteration to the next", "s := 0\nfor j := 0; j < n; j++ {\ns += j\n//omp:atomic\ncount[s&7]++\n}", false},
		{"what is read besides", "for j := 0; j < n; j++ {\nif bits[j] > 0 {\n//omp:atomic\nbits[j] += 1\n}\n}", false},
		{"the old value", "for j := 0; j < n; j++ {\nvar old int32\n//omp:atomic capture\n{\nold = count[j&7]\ncount[j&7]++\n}\n_ = old\n}", false},
		{"a store behind", "for j := 0; j < n; j++ {\n//omp:atomic\ncount[j&7]++\n}\nx[i] = 1", false},
		{"an end in the loop", "for j := 0; j < n; j++ {\nif x[j] > x[i] { break }\n//omp:atomic\ncount[j&7]++\n}", false},
		{"a length from memory", "for j := 0; j < bits[i]; j++ {\n//omp:atomic\ncount[j&7]++\n}", false},
	} {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x, count, bits)\nfunc K(n int, x []float32, count []int32, bits []int) {\n"+
			"//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\n"+c.loop+"\n}\n}", codegen.LowerOptions{})
		require.NoError(t, err, c.name)
		found := slices.ContainsFunc(l.Decisions, func(d codegen.Decision) bool { return strings.Contains(d.Where, "parts of loop j") })
		require.Equal(t, c.cut, found, "%s: %v", c.name, l.Decisions)
	}
}

// A thread takes one iteration of a table at a time where the iteration has a loop of updates: four
// of them, one after the other, would be a quarter of the threads.
func TestTables_IterationsWithLoops(t *testing.T) {
	const text = "//omp:target device(acc)\n//omp:task in(x) inout(count)\nfunc K(n int, x []float32, count []int32) {\n//omp:teams distribute parallel for\nfor i := range x {\nBODY\n}\n}"
	for body, width := range map[string]int{
		"//omp:atomic\ncount[int(x[i])&7]++":                                              4,
		"s := int(x[i])\nfor j := 0; j < n; j++ {\ns += j\n//omp:atomic\ncount[s&7]++\n}": 1,
	} {
		l, err := lowerText(t, strings.ReplaceAll(text, "BODY", body), codegen.LowerOptions{})
		require.NoError(t, err)
		require.Contains(t, l.Strategies, "tables", body)
		require.Equal(t, width, max(l.Program.Launches[0].Width, 1), body)
	}
}

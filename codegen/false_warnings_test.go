package codegen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// warningsOf returns what is said of kernel K with a directive line and a body.
func warningsOf(t *testing.T, task, body string) []string {
	t.Helper()
	p, err := Load(File{Name: "k.go", Text: "package k\n\n//omp:target device(acc, smp)\n//omp:task " + task +
		"\nfunc K(n int, x, y []float64, w *[2]float64, p *float64) {\n" + body + "\n}\n\n" +
		"func fill(t []float64, v float64) {\n\tfor i := range t {\n\t\tt[i] = v\n\t}\n}\n\nfunc set(a, b []float64, i int, c bool) {\n\tif c {\n\t\ta[i] = 1\n\t} else {\n\t\tb[i] = 2\n\t}\n}\n"})
	require.NoError(t, err, body)
	var out []string
	for _, w := range p.Warnings() {
		out = append(out, w.What)
	}
	return out
}

// warnedText returns why K is warned of.
func warnedText(t *testing.T, body string) (out []string) {
	t.Helper()
	p, err := Load(File{Name: "k.go", Text: "package k\n\n//omp:target device(acc, smp)\n//omp:task in(x) inout(*w, c)\nfunc K(n int, x []float64, c []cell, w *[2]float64) {\n" + body + "\n}\n\ntype cell struct{ v [2][2]float64 }\n"})
	require.NoError(t, err, body)
	for _, w := range p.Warnings() {
		out = append(out, w.Why)
	}
	return out
}

func TestOut_IsWrittenInEveryBranch(t *testing.T) {
	const all = "//omp:teams distribute parallel for\nfor i := range y {\n"
	for _, body := range []string{
		all + "if x[i] > 0 { y[i] = 1 } else { y[i] = 2 }\n}",
		all + "if x[i] > 0 { y[i] = 1 } else if x[i] < -1 { y[i] = 3 } else { y[i] = 2 }\n}",
		all + "switch { case x[i] > 0: y[i] = 1\ncase x[i] < -2: y[i] = 4\ndefault: y[i] = 2\n}\n}",
		all + "if x[i] > 0 { y[i] = 1; continue }\ny[i] = 2\n}",
		all + "if x[i] > 0 { y[i] = 1; continue }\nif x[i] < -1 { y[i] = 3\ncontinue }\ny[i] = 2\n}",
		all + "if x[i] > 0 { if n > 3 { y[i] = 1 } else { y[i] = 2 } } else { y[i] = 3 }\n}",
		"if n > 3 {\n" + all + "y[i] = 1\n}\n} else {\n" + all + "y[i] = x[i]\n}\n}",
	} {
		require.Empty(t, warningsOf(t, "in(x) out(y)", body), body)
	}
	require.Empty(t, warningsOf(t, "out(*p)", "if n > 3 { *p = 1 } else { *p = 2 }"))
	require.Empty(t, warningsOf(t, "in(x) out(y[0:8*n])", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\n"+
		"if x[i] > 0 { for j := range 8 { y[8*i+j] = 1 } } else { for j := 0; j < 8; j++ { y[8*i+j] = 2 } }\n}"))
	require.Empty(t, warningsOf(t, "in(x) out(y[0:8*n])", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\n"+
		"for j := range 8 { y[8*i+j] = 1 }\n}"))
	for _, body := range []string{
		all + "if x[i] > 0 { y[i] = 1 }\n}",
		all + "if x[i] > 0 { y[i] = 1 } else if x[i] < -1 { y[i] = 3 }\n}",
		all + "if x[i] > 0 { y[i] = 1 } else { y[len(y)-1-i] = 2 }\n}",
		all + "if x[i] > 0 { y[i] = 1 }\nif x[i] < -1 { y[i] = 2 }\n}",
		all + "if x[i] > 0 { y[i] = 1; continue }\nif x[i] < -1 { continue }\ny[i] = 2\n}",
		"if n > 3 {\n" + all + "y[i] = 1\n}\n} else {\nfor i := 1; i < len(y); i++ {\ny[i] = x[i]\n}\n}",
	} {
		require.Contains(t, warningsOf(t, "in(x) out(y)", body), "out(y)", body)
	}
	require.Equal(t, []string{"out(x)", "out(y)"}, warningsOf(t, "out(x, y)", "//omp:teams distribute parallel for\nfor i := range y {\n"+
		"set(x[:len(y)], y, i, n > 3)\nset(y, x[:len(y)], i, n > 4)\n}"), "branches of two calls")
	require.Equal(t, []string{"out(*p)"}, warningsOf(t, "out(*p)", "if n > 3 { *p = 1 }"))
}

func TestPrivate_IsFilledOnEveryPath(t *testing.T) {
	const all = "var t [4]float64\nvar u float64\n_, _ = t, u\n//omp:teams distribute parallel for private(t, u)\nfor i := range y {\n"
	for _, body := range []string{
		"for j := range t { t[j] = x[i] }\ny[i] = t[i&3]",
		"for j := 0; j < n; j++ { t[j] = x[i] }\nfor j := 0; j < n; j++ { y[i] += t[j] }",
		"fill(t[:], x[i])\ny[i] = t[2]",
		"q := &t\nq[1] = x[i]\ny[i] = t[1]",
		"switch { case n > 3: u = 1\ncase n > 2: u = 2\ndefault: u = 3\n}\ny[i] = u",
		"switch n { case 1: u = 1\nif x[i] > 2 { break }\nu = 2\ndefault: u = 3\n}\ny[i] = u",
		"for { u = x[i]; if u > 1 { break }; u = 1; break }\ny[i] = u",
		"for j := 0; j < 3; j++ { if x[j] > 1 { u = 1; continue }; u = 2 }\ny[i] = u",
		"if x[i] > 1 { u = 1 } else { continue }\ny[i] = u",
	} {
		require.Empty(t, warningsOf(t, "in(x) inout(y)", all+body+"\n}"), body)
	}
	for _, body := range []string{
		"switch n { case 1: if x[i] > 2 { break }\nu = 2\ndefault: u = 3\n}\ny[i] = u",
		"for { if x[i] > 1 { break }; u = 1; break }\ny[i] = u",
		"for j := 0; j < 3; j++ { if x[j] > 1 { continue }; u = 2 }\ny[i] = u",
		"for j := 0; j < n; j++ { u = x[j] }\ny[i] = u",
		"if n > 1 { u = 1 }\ny[i] = u",
	} {
		require.Equal(t, []string{"private(u)"}, warningsOf(t, "in(x) inout(y)", all+body+"\n}"), body)
	}
}

func TestReduction_OfWhatAPointerIsTo(t *testing.T) {
	for _, head := range []string{"parallel for", "teams distribute parallel for", "teams distribute parallel for simd", "parallel for simd"} {
		for _, clause := range []string{"*rows", "rows[0], rows[1]"} {
			body := "var table [2]float64\nrows := &table\n//omp:" + head + " reduction(+: " + clause + ")\nfor i := range x {\nrows[0] += x[i]\nrows[1]++\n}\n*p = table[0] + table[1]"
			require.Empty(t, warningsOf(t, "in(x) inout(*p)", body), body)
		}
		body := "rows := w\n//omp:" + head + " reduction(+: *rows)\nfor i := range x {\nrows[0] += x[i]\nrows[1]++\n}"
		require.Empty(t, warningsOf(t, "in(x) inout(*w)", body), body)
	}
}

func TestRace_OfAllIterationsButOne(t *testing.T) {
	const all = "//omp:teams distribute parallel for\nfor i := range y {\n"
	require.NotEmpty(t, warningsOf(t, "inout(x) inout(y)", all+"if i == 3 { y[i] = 1 } else { x[0] = 2 }\n}"))
	require.NotEmpty(t, warningsOf(t, "inout(x) inout(y)", all+"if i == 3 { continue }\nx[0] = 2\n}"))
	require.Empty(t, warningsOf(t, "inout(x) inout(y)", all+"if i == 3 { x[0] = 2 }\n}"))
	require.Empty(t, warningsOf(t, "inout(x) inout(y)", all+"if i != 3 { continue }\nx[0] = 2\n}"))
	require.Empty(t, warningsOf(t, "inout(x) inout(y)", all+"if i != 3 { y[i] = 1 } else { x[0] = 2 }\n}"))
}

func TestRace_OfArraysInElements(t *testing.T) {
	const all = "//omp:teams distribute parallel for\nfor i := 0; i < 2; i++ {\n"
	for _, body := range []string{
		all + "w[i] += x[i]\n}",
		all + "(*w)[i] = x[i]\n}",
		all + "w[i] = w[i]*x[i] + 1\n}",
		all + "for j := 0; j < n; j++ { w[i] += x[j] }\n}",
		"//omp:parallel for\nfor i := range w {\nw[i] += x[i]\n}",
		"//omp:teams distribute parallel for simd\nfor i := range w {\nw[i] += x[i]\n}",
		"//omp:teams distribute parallel for collapse(2)\nfor i := 0; i < 2; i++ { for j := 0; j < 1; j++ { w[i+j] += x[i] } }",
		"var t [3][2]float64\n//omp:teams distribute parallel for\nfor i := 0; i < 2; i++ {\nfor j := range t { t[j][i] = x[i] }\n}\nw[0] = t[1][n&1]",
	} {
		require.Empty(t, warningsOf(t, "in(x) inout(*w)", body), body)
	}
	for body, says := range map[string]string{
		all + "w[0] += x[i]\n}":                  "every iteration over i writes (*w)[0] here and reads it",
		all + "w[n] = x[i]\n}":                   "every iteration over i writes (*w)[n] here",
		all + "c[0].v[i][n] = x[i]\n}":           "",
		all + "c[i].v[0][n] = x[i]\n}":           "",
		all + "c[n].v[0][n] = x[i]\n}":           "every iteration over i writes c[n].v[0][n] here",
		all + "c[0].v[i][0] = c[0].v[i][1]\n}":   "",
		all + "c[i+1].v[i][0] = c[i].v[i][0]\n}": "",
		"//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nfor j := 0; j < 2; j++ { w[j] += x[i] }\n}": "every iteration over i writes (*w)[j] here",
		"//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nw[i+1] = w[i] + x[i]\n}":                    "(*w)[i + 1] is written here, and an iteration 1 away reads (*w)[i]",
		"//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nc[i+1].v[i+1][n] = c[i].v[i][n]\n}":         "c[i + 1].v[i + 1][n] is written here, and an iteration 1 away reads c[i].v[i][n]",
	} {
		got := warnedText(t, body)
		require.Equal(t, says != "", len(got) > 0, "%s: %s", body, got)
		require.Contains(t, strings.Join(got, "\n"), says, body)
	}
}

// TestPrivateValues_ThatAreLost: the outer variable keeps its value behind a construct with private copies, and lastprivate keeps nothing where
// the last iteration assigns nothing; plain Go differs, and nothing was said (issue 16 1).
func TestPrivateValues_ThatAreLost(t *testing.T) {
	const loop = "\nfor i := 0; i < n; i++ {\n"
	for _, c := range []struct{ body, want string }{
		{"t := 0\n//omp:teams distribute parallel for private(t)" + loop + "t = x[i]\ny[i] = t\n}\nx[0] = t", "private(t): it is read here with the value from before"},
		{"t := 3\n//omp:teams distribute parallel for firstprivate(t)" + loop + "t += x[i]\ny[i] = t\n}\nif n > 3 {\nx[t] = 1\n}", "firstprivate(t): it is read here"},
		{"t := 0\n//omp:teams\n{\n//omp:distribute private(t)" + loop + "t = x[i]\ny[i] = t\n}\n}\nx[0] += t", "private(t): it is read here"},
		{"t := 0\n//omp:teams distribute parallel for private(t)" + loop + "t = x[i]\ny[i] = t\n}\nt = 1\nx[0] = t", ""},
		{"t := 3\n//omp:teams distribute parallel for firstprivate(t)" + loop + "y[i] = t\n}\nx[0] = t", ""},
		{"t := 0\n//omp:teams distribute parallel for private(t)" + loop + "t = x[i]\ny[i] = t\n}\n//omp:teams distribute parallel for private(t)" + loop + "t = y[i]\nx[i] = t\n}", ""},
		{"t := 0\n//omp:teams distribute parallel for lastprivate(t)" + loop + "if x[i] > 3 {\nt = i\n}\n}\nx[0] = t", "lastprivate(t): only some paths"},
		{"t := 0\n//omp:teams distribute parallel for lastprivate(t)" + loop + "if x[i] > 3 {\ncontinue\n}\nt = i\n}\nx[0] = t", "lastprivate(t): only some paths"},
		{"t := 0\n//omp:teams distribute parallel for firstprivate(t) lastprivate(t)" + loop + "if x[i] > 3 {\nt = i\n}\n}\nx[0] = t", "lastprivate(t): only some paths"},
		{"t := 0\n//omp:teams distribute parallel for lastprivate(t)" + loop + "y[i] = x[i]\n}\nx[0] = t", "error: lastprivate(t): no iteration assigns to it"},
		{"t := 0\n//omp:teams distribute parallel for lastprivate(t)" + loop + "y[i] = t\nt = x[i]\n}\nx[0] = t", "error: lastprivate(t): its copies have no value"},
		{"t := 0\n//omp:teams distribute parallel for firstprivate(t) lastprivate(t)" + loop + "y[i] = t\nt = x[i]\n}\nx[0] = t", ""},
		{"t := 0\n//omp:teams distribute parallel for lastprivate(t)" + loop + "if x[i] > 3 {\nt = i\n} else {\nt = -i\n}\n}\nx[0] = t", ""},
		{"t := 0\n//omp:teams distribute parallel for collapse(2) lastprivate(t)" + loop + "for j := 0; j < n; j++ {\nt = i + j\n}\n}\nx[0] = t", ""},
	} {
		p, err := Load(File{Name: "k.go", Text: "package k\n\n//omp:target device(acc, smp)\n//omp:task inout(x, y)\nfunc K(n int, x, y []int) {\n" + c.body + "\n}\n"})
		if want, refused := strings.CutPrefix(c.want, "error: "); refused {
			require.ErrorContains(t, err, want, c.body)
			continue
		}
		require.NoError(t, err, c.body)
		var said []string
		for _, w := range p.Warnings() {
			said = append(said, w.What+": "+w.Why)
		}
		text := strings.Join(said, "\n")
		if c.want == "" {
			require.NotContains(t, text, "private(", c.body)
			continue
		}
		require.Contains(t, text, c.want, c.body)
	}
}

// TestReductions_OfElementsThatMayBeOne: the message told to write what was written (issue 16 11).
func TestReductions_OfElementsThatMayBeOne(t *testing.T) {
	load := func(clauses string) error {
		_, err := Load(File{Name: "k.go", Text: "package k\n\n//omp:target device(acc, smp)\n//omp:task in(x) inout(y)\nfunc K(n, k int, x, y []int) {\n//omp:teams distribute parallel for " +
			clauses + "\nfor i := 0; i < n; i++ {\ny[k] += x[i]\ny[k+1] = max(y[k+1], x[i])\n}\n}\n"})
		return err
	}
	require.EqualError(t, load("reduction(+: y[k]) reduction(max: y[k+1])"), "k.go:6:71: reduction(max) of y[k + 1]: it may be the same element as y[k], "+
		"which the clause at k.go:6:50 combines; reduce a variable, and assign it to the element behind the construct")
}

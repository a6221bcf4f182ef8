//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gompss/gompss/codegen"
	"github.com/stretchr/testify/require"
)

// Loops under a directive may compare a sum of their variable and a constant, or a conversion of
// it, and count down in an unsigned type.
func TestLoopHeads_LikeGo(t *testing.T) {
	for _, c := range []struct{ kind, head, at string }{
		{"int", "for i := 0; i+1 < n; i++", "i"}, {"int", "for i := 0; n > 2+i; i += 3", "i"}, {"int", "for i := 2; i-2 <= n; i++", "i"}, {"int", "for i := 0; i+1 <= len(x)-2; i++", "i"},
		{"int", "for i := 20; i-1 >= n; i--", "i"}, {"int", "for i := 20; i-3 > n; i -= 2", "i"},
		{"int32", "for i := int32(0); int(i) < int(n); i++", "i"}, {"uint8", "for i := uint8(3); int(i)+0 < int(n)+0; i++", "i"}, {"uint8", "for i := uint8(3); int(n) >= int(i); i += 2", "i"},
		{"int16", "for i := int16(20); int64(i) > int64(n); i--", "i"},
		{"uint", "for i := uint(22); i > n; i--", "i"}, {"uint", "for i := n; i >= 1; i--", "i"}, {"uint64", "for i := uint64(30); i > n; i--", "i"}, {"uint8", "for i := n; i >= 3; i--", "i"},
	} {
		if strings.Contains(c.head, "+0 <") {
			c.head = strings.ReplaceAll(strings.ReplaceAll(c.head, "int(i)+0", "int(i)"), "int(n)+0", "int(n)")
		}
		for _, directive := range []string{"teams distribute parallel for", "parallel for", "teams loop", "simd", "teams distribute parallel for reduction(+: s)"} {
			if directive == "teams loop" && c.kind != "int" {
				continue // such an index is not proved to be another one in each iteration
			}
			body := "o[" + c.at + "] += x[" + c.at + "]\n"
			if strings.Contains(directive, "reduction") {
				body = "s += x[" + c.at + "]\n"
			}
			text := "//omp:target device(acc, smp)\n//omp:task in(x) inout(o)\nfunc K(n " + c.kind + ", x, o []int64) {\ns := int64(0)\n//omp:" + directive + "\n" + c.head + " {\n" + body + "}\no[0] += s\n}\n"
			var list [][]any
			for _, n := range []int{0, 1, 2, 3, 9, 17, 25} {
				list = append(list, []any{fromBits(uint64(n), kindNamed(c.kind)).Interface(), numbersTo(40, func(i int) int64 { return int64(i) }), make([]int64, 40)})
			}
			if c.kind == "int" {
				for _, n := range []int{math.MinInt64, math.MinInt64 + 1, -1, -2, 100} {
					if strings.Contains(c.head, "--") || strings.Contains(c.head, "-=") {
						n = max(n, -1000)
					}
					list = append(list, []any{n, numbersTo(40, func(i int) int64 { return int64(i) }), make([]int64, 40)})
				}
			}
			t.Run(fmt.Sprintf("%s, %s, %s", directive, c.kind, c.head), func(t *testing.T) { likeGo(t, text, list...) })
		}
	}
}

// The refusals of other conditions say what to write.
func TestLoopHeads_Refusals(t *testing.T) {
	for head, want := range map[string]string{
		"for i := 0; i*i < n; i++":              "its condition does not compare i with a bound; compute the end before the loop, so that the condition compares i itself: for i := lo; i < hi; i += step",
		"for i := n; i+1 < 9; i++":              "the sum of i and a constant, which its condition compares, may wrap around; compare i itself, with a bound that is 1 less",
		"for i := uint(n); i >= uint(n&1); i--": "its variable is unsigned and counts down, perhaps past 0",
		"for i := uint(n); i > 3; i -= 2":       "its variable is unsigned and counts down, perhaps past 0",
	} {
		_, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n//omp:target device(acc, smp)\n//omp:task inout(x)\nfunc K(n int, x []int) {\n//omp:teams distribute parallel for\n" + head + " {\nx[i]++\n}\n}\n"})
		require.ErrorContains(t, err, want, head)
	}
}

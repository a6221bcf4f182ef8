package cuda_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
)

// With Align each thing that a text relies on is asked of the launch, and nothing else is: addresses
// of slices whose elements are smaller than an access, and lengths of rows. NVRTC takes it.
func TestAlign_WhatIsReliedOnIsAskedFor(t *testing.T) {
	var sources []nvrtcSource
	rows := 0
	for i, c := range corpus(t) {
		plain := c.print(t, cuda.Options{Index32: true})
		src := c.print(t, cuda.Options{Index32: true, Align: cuda.Widest})
		require.NotContains(t, plain.Text, "__builtin_assume")
		asked := 0
		for _, e := range src.Entries {
			for _, a := range e.Args {
				if a.Multiple == 0 {
					continue
				}
				asked++
				if a.Kind == cuda.Data {
					require.EqualValues(t, cuda.Widest, a.Multiple, c.name)
					require.Less(t, a.Var.Type.Elem.Size, cuda.Widest, c.name)
					continue
				}
				rows++
				require.Equal(t, cuda.Value, a.Kind, c.name)
				require.True(t, a.Var.Type.IsInteger(), c.name)
				require.Contains(t, src.Text, fmt.Sprintf("& %d) == 0);", a.Multiple-1), c.name)
			}
		}
		words := 0 // a function that states the alignment of a word inside of what is asked for
		if strings.Contains(src.Text, "aligned<") {
			words = 1
		}
		require.Equal(t, asked+words, strings.Count(src.Text, "__builtin_assume"), c.name)
		for _, e := range plain.Entries {
			for _, a := range e.Args {
				require.Zero(t, a.Multiple, c.name)
			}
		}
		if i%4 == 1 {
			s := source(c.name, src)
			s.Archs = []string{[]string{"sm_90", "sm_75"}[i/4%2]}
			sources = append(sources, s)
		}
	}
	require.Greater(t, rows, 20)
	if testing.Short() {
		return
	}
	for _, r := range compile(t, nil, sources).Results {
		require.True(t, r.OK, "%s for %s:\n%s", r.Name, r.Arch, r.Log)
		require.Empty(t, r.Log, "%s for %s", r.Name, r.Arch)
	}
}

// Kernels that access one element of a slice an iteration have nothing to gain.
func TestNeighbours(t *testing.T) {
	known := map[string]bool{"Histogram": false, "Compact": false, "AllPairs": true, "Atax": true}
	for _, c := range corpus(t) {
		if want, ok := known[c.name]; ok {
			require.Equal(t, want, cuda.Neighbours(c.prog), c.name)
			delete(known, c.name)
		}
	}
	require.Empty(t, known)
	require.False(t, cuda.Neighbours(&ir.Program{}))
}

// TestAlign_WordsAreWhole counts the accesses of whole words in PTX: NVRTC does not find by itself those inside of a pixel
// of three bytes.
func TestAlign_WordsAreWhole(t *testing.T) {
	least := map[string]int{"WordGray": 3 + 1, "WordLetters": 3 + 1, "WordChange": 1 + 1, "WordSmooth": 1 + 1, "WordMix": 2 + 1}
	whole := regexp.MustCompile(`(ld|st)\.global(\.nc)?\.v[24]\.[usb](8|16|32)`)
	var sources []nvrtcSource
	for _, c := range corpus(t) {
		if least[c.name] > 0 {
			for name, opt := range map[string]cuda.Options{"": {Index32: true, Align: cuda.Widest}, " 64": {Align: cuda.Widest}, " plain": {Index32: true}} {
				sources = append(sources, source(c.name+name, c.print(t, opt)))
			}
		}
	}
	require.Len(t, sources, 3*len(least))
	answer := ask(t, map[string]any{"archs": []string{"sm_90"}, "sources": sources, "ptx": true})
	for _, r := range answer.Results {
		require.True(t, r.OK, r.Log)
		name, how, _ := strings.Cut(r.Name, " ")
		n := len(whole.FindAllString(r.PTX, -1))
		if how == "plain" {
			require.Zero(t, n, "%s\n%s", r.Name, r.PTX)
			continue
		}
		require.GreaterOrEqual(t, n, least[name], "%s\n%s", r.Name, r.PTX)
	}
}

package task_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/task"
)

//go:embed alike_kernels_test.go
var alikeSource string

// lineMarked is the line of a kernel's mistake.
func lineMarked(name string) int {
	return 1 + slices.IndexFunc(strings.Split(alikeSource, "\n"), func(l string) bool { return strings.HasSuffix(l, "// "+name) })
}

// TestFailedChecks_HaveOneText makes the same mistake on every kind of device: text, position and sentinel are the same (issue 16 24).
func TestFailedChecks_HaveOneText(t *testing.T) {
	for _, c := range []struct {
		name string
		fn   any
		bad  int // the number in one iteration; all others have 1
		want string
		is   error
	}{
		{"WrongRead", WrongRead, 5, "y: index 5 out of range: length 5", ir.ErrBounds},
		{"WrongRead", WrongRead, -3, "y: index -3 out of range", ir.ErrBounds},
		{"WrongWrite", WrongWrite, 1000, "x: index 1700 out of range: length 1001", ir.ErrBounds},
		{"WrongOfTwo", WrongOfTwo, 4000, "y: index 4000 out of range: length 1000", ir.ErrBounds},
		{"WrongEither", WrongEither, -9, "x or y: index -9 out of range", ir.ErrBounds},
		{"WrongEither", WrongEither, 6, "y: index 6 out of range: length 5", ir.ErrBounds},
		{"WrongHelper", WrongHelper, 7, "list: index 7 out of range: length 5", ir.ErrBounds},
		{"WrongHelper", WrongHelper, -7, "list: index -7 out of range", ir.ErrBounds},
		{"WrongArray", WrongArray, 4, "few: index 4 out of range: length 4", ir.ErrBounds},
		{"WrongNested", WrongNested, 3, "rows[i].cells: index 3 out of range: length 3", ir.ErrBounds},
		{"WrongSum", WrongSum, 9, "y: index 9 out of range: length 5", ir.ErrBounds},
		{"WrongUnsigned", WrongUnsigned, -1, "y: index 18446744073709551615 out of range: length 5", ir.ErrBounds},
		{"WrongPart", WrongPart, 6, "y[:at[i]]: slice bound 6 out of range: limit 5", ir.ErrBounds},
		{"WrongPart", WrongPart, -6, "y[:at[i]]: slice bound -6 out of range", ir.ErrBounds},
		{"WrongFrom", WrongFrom, 4, "y[at[i]:2]: slice bound 4 out of range: limit 2", ir.ErrBounds},
		{"WrongFrom", WrongFrom, -4, "y[at[i]:2]: slice bound -4 out of range", ir.ErrBounds},
		{"WrongQuotient", WrongQuotient, 0, "at[i]: integer division by zero", ir.ErrDivide},
		{"WrongRest", WrongRest, 0, "b: integer division by zero", ir.ErrDivide},
		{"WrongShift", WrongShift, -2, "at[i]: negative shift count", ir.ErrShift},
		{"WrongEnd", WrongEnd, 0, "m: integer division by zero", ir.ErrDivide},
		{"WrongInOrder", WrongInOrder, 12, "y: index 12 out of range: length 5", ir.ErrBounds},
		{"WrongPointer", WrongPointer, 5, "p: nil pointer dereference", ir.ErrNil},
		{"WrongNil", WrongNil, 5, "none: index 5 out of range: length 0", ir.ErrBounds},
		{"WrongCopy", WrongCopy, 6, "x[:2] or y[at[i]:]: slice bound 6 out of range: limit 5", ir.ErrBounds},
		{"WrongConversion", WrongConversion, 260, "y: index 260 out of range: length 5", ir.ErrBounds},
		{"WrongAssign", WrongAssign, 0, "at[i]: integer division by zero", ir.ErrDivide},
		{"WrongField", WrongField, 1 << 40, "p.list: index 1099511627776 out of range: length 5", ir.ErrBounds},
	} {
		k, err := task.NewKernel(c.fn, task.SourceFile{Name: "alike_kernels_test.go", Text: alikeSource})
		require.NoError(t, err)
		want := fmt.Sprintf("alike_kernels_test.go:%d: %s: %s", lineMarked(c.name), c.name, c.want)
		for _, spec := range []string{"smp:1", "smp:2", "sim:1(exec=cpu)", "sim:1(exec=simt)"} {
			for _, vector := range []string{task.VectorAuto, task.VectorOff, task.VectorAVX2, task.VectorAVX512} {
				t.Run(fmt.Sprint(c.name, c.bad, spec, vector), func(t *testing.T) {
					rt, err := task.New(task.Options{Devices: spec, Vector: vector})
					if err != nil && (vector == task.VectorAVX2 || vector == task.VectorAVX512) {
						t.Skip(err)
					}
					require.NoError(t, err)
					defer func() { _ = rt.Close() }() // it returns the mistake again
					_, err = k.Submit(rt, mistaken(c.name, c.bad)...)
					require.NoError(t, err)
					err = rt.Wait(context.Background())
					var check *task.CheckError
					require.True(t, errors.As(err, &check), "%v", err)
					require.EqualError(t, check, want)
					require.ErrorContains(t, err, ": "+want)
					require.ErrorIs(t, err, c.is)
				})
			}
		}
	}
}

// TestFailedChecks_HaveOneTextInCUDA has a site in the CUDA C++ of each kernel that makes the error of the other devices, numbers apart.
func TestFailedChecks_HaveOneTextInCUDA(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "alike_kernels_test.go", Text: alikeSource})
	require.NoError(t, err)
	kinds := map[cuda.SiteKind]ir.CheckKind{cuda.IndexSite: ir.IndexCheck, cuda.SliceSite: ir.SliceCheck, cuda.DivisorSite: ir.DivisorCheck, cuda.CountSite: ir.CountCheck, cuda.PointerSite: ir.PointerCheck}
	for name, want := range map[string]string{
		"WrongRead": "y: index 5 out of range: length 5", "WrongHelper": "list: index 5 out of range: length 5", "WrongNested": "rows[i].cells: index 5 out of range: length 3",
		"WrongPart": "y[:at[i]]: slice bound 5 out of range: limit 5", "WrongQuotient": "at[i]: integer division by zero", "WrongRest": "b: integer division by zero",
		"WrongShift": "at[i]: negative shift count", "WrongPointer": "p: nil pointer dereference", "WrongAssign": "at[i]: integer division by zero", "WrongField": "p.list: index 5 out of range: length 5",
	} {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		l, err := codegen.Lower(k, codegen.LowerOptions{})
		require.NoError(t, err)
		source, err := cuda.Print(l.Program, cuda.Options{})
		require.NoError(t, err)
		values := ir.Values{}
		for i, p := range k.GoParams() {
			if v := reflect.ValueOf(mistaken(name, 5)[i]); v.Kind() == reflect.Slice {
				values[k.Params[p.First]] = ir.Value{Len: int64(v.Len()), Cap: int64(v.Cap())}
			}
		}
		var texts []string
		for _, s := range source.Sites {
			if s.Pos.Line != lineMarked(name) {
				continue
			}
			e := &ir.CheckError{Kernel: k.Name, At: s.Pos, Kind: kinds[s.Kind], What: s.What, Index: 5, Length: 5, Unsigned: s.Unsigned}
			if name == "WrongNested" {
				e.Length = 3
			}
			k.Locate(e, values)
			texts = append(texts, e.Error())
		}
		require.Contains(t, texts, fmt.Sprintf("alike_kernels_test.go:%d: %s: %s", lineMarked(name), name, want))
	}
}

// TestFailedChecks_HaveOneTextInSequences makes a mistake in a step: the text names the kernel of the step. It rests on what both steps have in common.
func TestFailedChecks_HaveOneTextInSequences(t *testing.T) {
	k, err := task.NewKernel(WrongRead, task.SourceFile{Name: "alike_kernels_test.go", Text: alikeSource})
	require.NoError(t, err)
	for _, spec := range []string{"sim:1(exec=cpu)", "sim:1(exec=simt)"} {
		rt := open(t, task.Options{Devices: spec})
		args := mistaken("WrongRead", 5)
		it, err := rt.RecordKernels("two", func(r *task.KernelRecorder) error {
			return errors.Join(r.Submit(k, make([]int, 5), make([]int, 5), make([]int, 5)), r.Submit(k, args...))
		})
		require.NoError(t, err)
		_, err = it.Replay()
		require.NoError(t, err)
		err = rt.Wait(context.Background())
		require.ErrorIs(t, err, ir.ErrBounds)
		require.ErrorContains(t, err, fmt.Sprintf(": alike_kernels_test.go:%d: WrongRead: at, x or y: index 5 out of range: length 5", lineMarked("WrongRead")), spec)
	}
}

// mistaken are the arguments of a kernel, one of whose iterations reads bad.
func mistaken(name string, bad int) []any {
	at := slices.Repeat([]int{1}, 1000)
	at[700] = bad
	x, y := make([]int, 1000), []int{1, 2, 3, 4, 5}
	switch name {
	case "WrongWrite":
		x, y = make([]int, 1001), make([]int, 1000)
	case "WrongOfTwo":
		y = make([]int, 1000)
		x = x[:999:999]
		at = at[:999]
	case "WrongNested":
		return []any{x, make([]wrongRow, 1000), at}
	case "WrongField":
		return []any{x, wrongLists{n: 3, list: y}, at}
	case "WrongEnd":
		return []any{x, y, at, 5, bad}
	case "WrongPointer":
		at[0] = bad
		return []any{(*int)(nil), x, at}
	}
	return []any{x, y, slices.Clip(at)}
}

// A race names the places as the source writes them, where a guard of the compiler stands before
// the access, too.
func TestRaces_PlacesAreThoseOfTheSource(t *testing.T) {
	k, err := task.NewKernel(Spread, task.SourceFile{Name: "k.go", Text: `package k

type Graph struct{ Rows, Edges []int32 }

//omp:target device(acc, smp)
//omp:task in(g.Rows, g.Edges) inout(label)
func Spread(g Graph, label []int32) {
	//omp:teams distribute parallel for
	for v := range label {
		least := label[v]
		for e := g.Rows[v]; e < g.Rows[v+1]; e++ {
			least = min(least, label[g.Edges[e]])
		}
		if least < label[v] {
			label[v] = least
		}
	}
}
`})
	require.NoError(t, err)
	rt := open(t, task.Options{Devices: "sim:1(exec=simt,races=on)"})
	const n = 100 // iterations that race are not of one warp, whose lanes wait for each other
	g, label := Graph{make([]int32, n+1), make([]int32, n)}, make([]int32, n)
	for v := range n {
		g.Rows[v+1], g.Edges[v], label[v] = int32(v+1), int32(n-1-v), int32(v)
	}
	_, err = k.Submit(rt, g, label)
	require.NoError(t, err)
	require.ErrorContains(t, rt.Wait(context.Background()), "of label[g.Edges[e]] at k.go:12:")
}

type Graph struct{ Rows, Edges []int32 }

// Spread is the Go function of the kernel of that name.
func Spread(Graph, []int32) {}

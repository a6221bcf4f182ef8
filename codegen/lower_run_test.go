package codegen_test

import (
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

//go:embed corpus_test.go
var corpusSource string

// loadCorpus compiles the kernels of corpus_test.go.
func loadCorpus(t testing.TB) *codegen.Package {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "corpus_test.go", Text: corpusSource})
	require.NoError(t, err)
	return p
}

// name is the name of a kernel's Go function.
func name(kernel any) string {
	full := runtime.FuncForPC(reflect.ValueOf(kernel).Pointer()).Name()
	return full[strings.LastIndex(full, ".")+1:]
}

// makeArgs makes the arguments of a case; equal calls give equal arguments.
func (c corpusCase) makeArgs(n int) []any { return c.args(n, rand.New(rand.NewPCG(uint64(n), 7))) }

// runGo calls the kernel as the Go function that it is.
func (c corpusCase) runGo(args []any) {
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		in[i] = reflect.ValueOf(a)
	}
	reflect.ValueOf(c.kernel).Call(in)
}

// differ returns the first difference between what two runs left in their arguments, "" for none.
func (c corpusCase) differ(want, got []any) string {
	for i := range want {
		if d := c.values(fmt.Sprintf("argument %d", i), reflect.ValueOf(want[i]), reflect.ValueOf(got[i])); d != "" {
			return d
		}
	}
	return ""
}

func (c corpusCase) values(path string, want, got reflect.Value) string {
	switch want.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range want.Len() {
			if d := c.values(fmt.Sprintf("%s[%d]", path, i), want.Index(i), got.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Pointer:
		return c.values("*"+path, want.Elem(), got.Elem())
	case reflect.Struct:
		for i := range want.NumField() {
			if d := c.values(path+"."+want.Type().Field(i).Name, want.Field(i), got.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Float32, reflect.Float64:
		if c.near(want.Float(), got.Float()) {
			return ""
		}
	default:
		if want.Equal(got) {
			return ""
		}
	}
	return fmt.Sprintf("%s: got %v, want %v", path, got, want)
}

func (c corpusCase) near(want, got float64) bool {
	if math.Float64bits(want) == math.Float64bits(got) || math.IsNaN(want) && math.IsNaN(got) {
		return true
	}
	return math.Abs(want-got) <= c.tolerance*math.Max(1, math.Max(math.Abs(want), math.Abs(got)))
}

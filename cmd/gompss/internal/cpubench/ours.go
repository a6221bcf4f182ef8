package cpubench

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

//go:embed kernels.go
var kernelText string

// goFunctions are the kernels as Go runs them.
func goFunctions[T float32 | float64]() map[string]any {
	return map[string]any{"Copy": Copy[T], "Scale": Scale[T], "Add": Add[T], "Triad": Triad[T], "Saxpy": Saxpy[T], "Dot": Dot[T], "NBody": NBody[T],
		"Jacobi": Jacobi[T], "SpMV": SpMV[T], "Exp": Exp[T], "BlackScholes": BlackScholes[T], "MatMul": MatMul[T], "Mandelbrot": Mandelbrot[T],
		"Histogram": Histogram[T]}
}

// ours runs our side of the rows of one type.
type ours[T float32 | float64] struct {
	pkg     *codegen.Package
	arena   *cpu.Arena
	options cpu.Options
	pool    *pool
	typ     string
}

// A variant is one kernel, ready to run: as vector code, or as the Go function and why.
type variant struct {
	runner  *cpu.Runner
	fn      reflect.Value
	refused error
}

func (o *ours[T]) variant(name string) (*variant, error) {
	k, err := o.pkg.Instance(name, o.typ)
	if err != nil {
		return nil, err
	}
	v := &variant{fn: reflect.ValueOf(goFunctions[T]()[name])}
	var refusal *cpu.Refusal
	v.runner, err = cpu.NewKernelRunner(o.arena, codegen.ForCPU(k), o.options)
	if errors.As(err, &refusal) {
		v.refused = err
		return v, nil
	}
	return v, err
}

// width is what the row ran with, in bits; 0 is the Go function.
func (c *call) width() int {
	if c.variant.runner == nil {
		return 0
	}
	return c.variant.runner.ProgramFor(c.values).Code.Width.Bytes() * 8
}

// A call is a variant with its arguments: nothing in it allocates.
type call struct {
	variant *variant
	values  []cpu.Value
	in      []reflect.Value
	on      cpu.Launcher
}

func (v *variant) bind(args []any) *call {
	c := &call{variant: v, values: make([]cpu.Value, len(args)), in: make([]reflect.Value, len(args))}
	for i, a := range args {
		c.in[i] = reflect.ValueOf(a)
		c.values[i] = valueOf(c.in[i])
	}
	return c
}

func valueOf(v reflect.Value) cpu.Value {
	switch v.Kind() {
	case reflect.Slice:
		return cpu.Value{Addr: v.UnsafePointer(), Len: int64(v.Len())}
	case reflect.Float32:
		return cpu.Value{Bits: uint64(math.Float32bits(float32(v.Float())))}
	case reflect.Float64:
		return cpu.Value{Bits: math.Float64bits(v.Float())}
	}
	return cpu.Value{Bits: uint64(v.Int())}
}

// run runs the kernel reps times.
func (c *call) run(reps int) (time.Duration, error) {
	began := time.Now()
	for range reps {
		if c.variant.runner == nil {
			c.variant.fn.Call(c.in)
		} else if err := c.on.Call(c.variant.runner, c.values, nil); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// verify runs the row at its small size on both the Go function and ours, and compares every
// element.
func (o *ours[T]) verify(v *variant, s spec) error {
	s = s.small()
	var got, want []any
	for _, fn := range []bool{false, true} {
		use := *v
		if fn {
			use.runner = nil
		}
		args := arguments[T](o.pool, s)
		if _, err := use.bind(args).run(1); err != nil {
			return err
		}
		results := s.results(args)
		if fn {
			want = results
			break
		}
		for _, r := range results { // the pool is used again
			x := reflect.ValueOf(r)
			got = append(got, reflect.AppendSlice(reflect.MakeSlice(x.Type(), 0, x.Len()), x).Interface())
		}
	}
	return compare(s, got, want, bound[T]())
}

// bound is the relative difference that fastmath may make.
func bound[T float32 | float64]() float64 {
	var t T
	if reflect.TypeOf(t).Kind() == reflect.Float32 {
		return 2e-4
	}
	return 1e-9
}

var errDiffers = errors.New("results differ")

// compare allows iteration counts to differ by one: |z| may pass 2 a rounding earlier.
func compare(s spec, got, want []any, bound float64) error {
	for k := range want {
		w, g := reflect.ValueOf(want[k]), reflect.ValueOf(got[k])
		bad := 0
		for i := range w.Len() {
			x, y := number(w.Index(i)), number(g.Index(i))
			if math.Abs(x-y) <= bound*math.Max(1, math.Abs(x)) {
				continue
			}
			if bad++; s.name == "mandelbrot" && bad*100 < w.Len() { // chaos: a rounding moves a few points
				continue
			}
			return fmt.Errorf("bench: %s: element %d of result %d is %v, the Go function has %v: %w", s.name, i, k, y, x, errDiffers)
		}
	}
	return nil
}

func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// sum is the weighted sum of the results that c/rows.c makes.
func (s spec) sum(args []any) float64 {
	total := 0.0
	for _, r := range s.results(args) {
		v := reflect.ValueOf(r)
		for i := range v.Len() {
			total += float64(1+i%7) * number(v.Index(i))
		}
	}
	return total
}

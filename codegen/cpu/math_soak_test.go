package cpu

import (
	"fmt"
	"math"
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/ir"
)

// A soak has this many parts for each function: part k has the float32 whose bits begin with k, the sign first.
const soakParts = 64

// TestEveryFloat32KeepsTheBounds computes the functions of one argument of all float32 there are, under GOMPSS_SOAK. The reference is Go's
// function in float64, whose error is too small to see here. Functions and parts are subtests: -run 'EveryFloat32/sin/07' is one of them.
func TestEveryFloat32KeepsTheBounds(t *testing.T) {
	if os.Getenv("GOMPSS_SOAK") == "" {
		t.Skip("GOMPSS_SOAK is not set: all of it takes an hour of one processor")
	}
	for _, c := range mathCases {
		t.Run(c.fn.String(), func(t *testing.T) {
			for part := range uint32(soakParts) {
				t.Run(fmt.Sprintf("%02d", part), func(t *testing.T) { soakPart(t, c, part) })
			}
		})
	}
}

// TestAFewOfEveryFloat32 keeps the soak itself honest: it finds a function that is wrong by more than its bound.
func TestAFewOfEveryFloat32(t *testing.T) {
	x := []float32{1.5, 2, 3, float32(math.Inf(1)), float32(math.NaN()), 0}
	w := &worst{c: mathCases[0], bound: 1.5}
	got := make([]float32, len(x))
	for i, v := range x {
		got[i] = float32(math.Exp(float64(v)))
	}
	require.NoError(t, w.compare(x, got, exactOf(w.c.fn, x, nil)))
	require.LessOrEqual(t, w.ulp, 0.5)
	got[1] = math.Nextafter32(math.Nextafter32(got[1], 0), 0)
	require.NoError(t, w.compare(x, got, exactOf(w.c.fn, x, nil)))
	require.Greater(t, w.ulp, w.bound)
	require.Equal(t, float32(2), w.at)
	got[3] = 1
	require.ErrorContains(t, w.compare(x, got, exactOf(w.c.fn, x, nil)), "exp(+Inf)")
}

// soakPart tries one part of the arguments with the code of every instruction set.
func soakPart(t *testing.T, c mathCase, part uint32) {
	const piece = 1 << 16
	bound, ok := vecmath.Bound(c.fn, ir.Float32Type)
	require.True(t, ok)
	machines, seen := map[string]*Runner{}, map[string]*worst{}
	for name, o := range machineOptions(t) {
		machines[name], seen[name] = mathRunner(t, c.fn, o), &worst{c: c, bound: bound}
	}
	x, got, exact := make([]float32, piece), make([]float32, piece), make([]float64, piece)
	slice := func(x []float32) Value { return Value{Addr: unsafe.Pointer(unsafe.SliceData(x)), Len: int64(len(x))} }
	for hi := part << 26; hi-part<<26 < 1<<26; hi += piece {
		for lo := range uint32(piece) {
			x[lo] = math.Float32frombits(hi | lo)
		}
		exact = exactOf(c.fn, x, exact[:0])
		for name, r := range machines {
			require.NoError(t, r.Call([]Value{slice(got), slice(x)}, nil))
			require.NoError(t, seen[name].compare(x, got, exact), name)
		}
		if hi > math.MaxUint32-piece {
			break
		}
	}
	for name, w := range seen {
		t.Logf("soak %s %02d %s: %.3f ulp at %v", c.fn, part, name, w.ulp, w.at)
		require.LessOrEqual(t, w.ulp, bound, "%s: %s(%v)", name, c.fn, w.at)
	}
}

// mathRunner runs the vector code of a function until the test ends.
func mathRunner(t *testing.T, fn ir.MathFn, o Options) *Runner {
	arena, err := NewArena()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, arena.Close()) })
	code, err := Compile(mathKernel(fn, ir.Float32Type), o)
	require.NoError(t, err)
	p, err := arena.Install(code)
	require.NoError(t, err)
	return NewRunner(p)
}

// exactOf appends the values of a function in float64.
func exactOf(fn ir.MathFn, x []float32, to []float64) []float64 {
	for _, v := range x {
		to = append(to, goFloat(ir.Float64Type, ir.FoldMath(fn, ir.Float64Type, ir.FloatBits(ir.Float64Type, float64(v)))))
	}
	return to
}

// worst is the largest error that was seen.
type worst struct {
	c     mathCase
	bound float64
	ulp   float64
	at    float32
}

// compare holds special values to Go's, and keeps the largest error of the others.
func (w *worst) compare(x, got []float32, exact []float64) error {
	for i, want := range exact {
		near := float32(want)
		if bits := math.Float32bits(near) & 0x7FFFFFFF; bits == 0 || bits >= 0x7F800000 {
			if err := w.special(x[i], got[i], near); err != nil {
				return err
			}
			continue
		}
		e := int(math.Float64bits(want)>>52&0x7FF) - 1022
		if d := math.Abs(float64(got[i])-want) / math.Float64frombits(uint64(max(e-24, -149)+1023)<<52); !(d <= w.ulp) {
			w.ulp, w.at = d, x[i]
			if math.IsNaN(d) {
				return fmt.Errorf("%s(%v) is %v, not %v", w.c.fn, x[i], got[i], want)
			}
		}
	}
	return nil
}

// special compares with a zero, an infinity or NaN. Where the exact value rounds to zero, the bound allows the smallest number too.
func (w *worst) special(x, got, near float32) error {
	same := got == near && math.Signbit(float64(got)) == math.Signbit(float64(near)) || got != got && near != near
	if same || specialNear(float64(x), w.c, ir.Float32Type) || near == 0 && x != 0 && math.Abs(float64(got)) <= w.bound*math.Ldexp(1, -149) {
		return nil
	}
	return fmt.Errorf("%s(%v) is %v, not %v", w.c.fn, x, got, near)
}

//go:build linux && amd64

package odd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu"
)

// spanKernel is a kernel that counts the iterations of a loop, each at its number.
func spanKernel(s *span, id uint64, directive string) string {
	return fmt.Sprintf(`//omp:target device(acc, smp)
func K_%[1]d(lo, hi, step %[2]s, out []int32) {
	%[3]s
	//omp:%[4]s
	%[5]s
		out[%[6]s]++
	}
}
`, id, s.t.name, s, directive, s.head(s.from, s.to), s.number())
}

// TestSpans_HaveGosIterations runs loops between bounds near the ends of the types of their counters
// on every target. GOMPSS_RANDOM_SPANS=10m does it for so long, GOMPSS_RANDOM_SEED=N begins at seed
// N.
func TestSpans_HaveGosIterations(t *testing.T) {
	if _, err := machines(); err != nil {
		t.Skip(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	first, until := uint64(1), time.Now()
	if text := os.Getenv("GOMPSS_RANDOM_SEED"); text != "" {
		_, err := fmt.Sscan(text, &first)
		require.NoError(t, err)
	}
	if text := os.Getenv("GOMPSS_RANDOM_SPANS"); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		until = until.Add(d)
	}
	r := &runner{t: t, count: map[string]int{}, names: []string{"lo", "hi", "step", "out"}}
	failures := 0
	for seed := first; seed < first+60 || time.Now().Before(until) && failures < 20; seed++ {
		if err := r.checkSpan(seed); err != nil {
			failures++
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	report(t, r.count)
	if first == 1 {
		require.Positive(t, r.count["the counter passes an end of its type"])
		require.Positive(t, r.count["no iterations"])
		require.Positive(t, r.count["bounds 2^63 apart and more"])
		require.Positive(t, r.count["a variable step"])
		require.Positive(t, r.count["a variable step that a submission refuses"])
	}
}

// checkSpan runs the loop of a seed with several bounds.
func (r *runner) checkSpan(seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 77))
	g := &gen{Rand: rng}
	s := g.makeSpan()
	s.varies = s.op != "!=" && g.chance(50)
	p := program{seed: seed, text: spanKernel(s, seed, g.pick("teams distribute parallel for", "parallel for", "teams distribute parallel for simd", "teams loop", "teams distribute parallel for schedule(dynamic, 2)"))}
	arena, err := cpu.NewArena()
	if err != nil {
		return err
	}
	defer arena.Close()
	targets, err := r.targets(p, arena)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, p.text)
	}
	kinds := map[string]reflect.Type{}
	for _, v := range []any{int(0), int64(0), int32(0), int16(0), int8(0), uint(0), uint64(0), uint32(0), uint16(0), uint8(0)} {
		kinds[reflect.TypeOf(v).Name()] = reflect.TypeOf(v)
	}
	for range 12 {
		lo, hi := s.bounds(rng, []int{3, 40, 200}[rng.IntN(3)])
		trips, _ := s.trips(lo, hi, 200)
		if s.varies {
			r.count["a variable step"]++
			if s.refused(lo, hi) {
				r.count["a variable step that a submission refuses"]++
				continue
			}
		}
		r.countSpan(s, lo, hi, trips)
		var begin []reflect.Value
		for _, x := range []uint64{lo, hi, s.step} {
			v := reflect.New(kinds[s.t.name]).Elem()
			v.Set(reflect.ValueOf(x).Convert(v.Type()))
			begin = append(begin, v)
		}
		out := make([]int32, trips)
		want := run{args: copied(append(begin, reflect.ValueOf(out)))}
		for i := range trips {
			want.args[3].Index(i).SetInt(1)
		}
		for _, x := range targets {
			r.count["launches"]++
			if err := r.launch(x, rng, copied(append(begin, reflect.ValueOf(out))), want); err != nil {
				return fmt.Errorf("%s, lo=%v hi=%v, %d iterations: %w\n%s", x.name, begin[0], begin[1], trips, err, p.text)
			}
		}
	}
	return nil
}

// refused reports whether a submission refuses the loop: with a variable step, a counter of 64 bits
// may pass an end of its type.
func (s *span) refused(lo, hi uint64) bool {
	if s.t.bits < 64 || s.step <= 1<<24 {
		return false
	}
	for _, x := range []uint64{s.bound(s.from, lo, hi), s.bound(s.to, lo, hi), s.step} {
		if x >= 1<<62 && (!s.t.signed || x < -(1<<62)&math.MaxUint64) {
			return true
		}
	}
	return false
}

// countSpan counts the classes of loops that are met.
func (r *runner) countSpan(s *span, lo, hi uint64, trips int) {
	from, to := s.bound(s.from, lo, hi), s.bound(s.to, lo, hi)
	last := from + uint64(trips)*s.step
	if s.down {
		last = from - uint64(trips)*s.step
	}
	if s.t.wrap(last) != last {
		r.count["the counter passes an end of its type"]++
	}
	if trips == 0 {
		r.count["no iterations"]++
	}
	if d := to - from; s.t.bits == 64 && (d > 1<<63) != (s.down && d != 0) {
		r.count["bounds 2^63 apart and more"]++
	}
}

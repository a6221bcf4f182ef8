package codegen

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/deps"
)

// TestContractIsExact runs random kernels against their contract: a launch is refused exactly where an access that is
// under no condition touches an element outside of the slice, or one that is under none but comparisons of loop variables
// one outside of the union of the declared regions.
func TestContractIsExact(t *testing.T) {
	checkUntil(t, []string{"length refused", "region refused", "union region refused", "bounded refused", "passed", "union passed"}, func(t *rapid.T, verdicts map[string]int) {
		n := drawNest(t)
		n.kernel.Task = ir.Task{Present: true}
		for range rapid.IntRange(1, 3).Draw(t, "regions") {
			region := ir.Region{Var: n.x, Text: "x"}
			if rapid.IntRange(0, 5).Draw(t, "part") > 0 {
				region = n.drawRegion(t)
			}
			mode := rapid.SampledFrom([]deps.Mode{deps.In, deps.InOut, deps.InOut}).Draw(t, "mode")
			n.kernel.Task.Accesses = append(n.kernel.Task.Accesses, ir.Access{Region: region, Mode: mode})
		}
		contract := NewContract(n.kernel)
		var proof Proof
		for range 6 {
			values := []int64{rapid.Int64Range(0, 3).Draw(t, "p"), rapid.Int64Range(0, 9).Draw(t, "q"), rapid.Int64Range(1, 4).Draw(t, "r")}
			n.prove(t, contract, &proof, values, rapid.Int64Range(0, 60).Draw(t, "length"), verdicts)
		}
	})
}

// prove compares what the contract says of one launch with a run.
func (n *nest) prove(t *rapid.T, contract *Contract, proof *Proof, values []int64, length int64, verdicts map[string]int) {
	env := ir.Values{n.x: {Len: length, Cap: length}}
	for i, p := range n.params {
		env[p] = ir.Value{Bits: ir.Bits(values[i])}
	}
	var boxes [][]Box
	held := [2]map[int64]bool{{}, {}} // what may be read, what may be written
	whole := [2]bool{}
	for _, a := range n.kernel.Task.Accesses {
		list, err := EvalRegion(a.Region, length, env)
		if err != nil {
			return
		}
		boxes = append(boxes, list)
		whole[0] = whole[0] || query.IsWhole(a.Region)
		whole[1] = whole[1] || a.Mode.Writes() && query.IsWhole(a.Region)
		for _, b := range list {
			for _, at := range elements(b, 0, 0) {
				held[0][at] = true
				held[1][at] = held[1][at] || a.Mode.Writes()
			}
		}
	}
	touched, leaves, strays, bounded := map[int64]bool{}, false, false, false
	n.run(values, func(u use, at int64) {
		touched[at] = true
		if u.guard >= 0 {
			return
		}
		side := 0
		if u.write {
			side = 1
		}
		switch {
		case whole[side] || u.write && !n.writable(): // the compiler refuses a write that no clause allows
			leaves = leaves || len(u.bounds) == 0 && (at < 0 || at >= length)
		default:
			strays = strays || !held[side][at]
			bounded = bounded || len(u.bounds) > 0 && !held[side][at]
		}
	})
	proof.Load(n.kernel, contract, env)
	union := ""
	if len(boxes) > 1 {
		union = "union "
	}
	for _, c := range []struct {
		name string
		err  error
		want bool
		bad  func(at int64) bool
	}{
		{"length", proof.Lengths(), leaves, func(at int64) bool { return at < 0 || at >= length }},
		{union + "region", proof.Inside(boxes), strays, func(at int64) bool { return !held[0][at] || !held[1][at] }},
	} {
		require.Equal(t, c.want, c.err != nil, "%s: %v with %v, length %d, in\n%s%v", c.name, c.err, values, length, n.kernel, boxes)
		if c.err == nil {
			verdicts["passed"]++
			verdicts[union+"passed"]++
			continue
		}
		verdicts[c.name+" refused"]++
		if bounded {
			verdicts["bounded refused"]++
		}
		var e *AccessError
		require.True(t, errors.As(c.err, &e) && errors.Is(c.err, ir.ErrBounds))
		require.True(t, touched[e.First] && touched[e.Last] && (c.bad(e.First) || c.bad(e.Last)),
			"%v, with %v, length %d, of\n%s", e, values, length, n.kernel)
	}
}

// writable reports whether a clause lets the kernel write.
func (n *nest) writable() bool {
	for _, a := range n.kernel.Task.Accesses {
		if a.Mode.Writes() {
			return true
		}
	}
	return false
}

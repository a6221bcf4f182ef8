package codegen

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
)

// TestContractRefusesWhatGoesOutside runs random kernels against their contract: what is refused must touch an element
// outside, and, where no condition is in the way and no loop depends on another, what touches one must be refused.
func TestContractRefusesWhatGoesOutside(t *testing.T) {
	verdicts := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		n := drawNest(t)
		region := ir.Region{Var: n.x, Text: "x"}
		if rapid.Bool().Draw(t, "part") {
			region = n.drawRegion(t)
		}
		n.kernel.Task = ir.Task{Present: true, Accesses: []ir.Access{{Region: region, Mode: deps.InOut}}}
		contract := NewContract(n.kernel)
		var proof Proof
		for range 4 {
			values := []int64{rapid.Int64Range(0, 3).Draw(t, "p"), rapid.Int64Range(0, 5).Draw(t, "q"), rapid.Int64Range(1, 4).Draw(t, "r")}
			n.prove(t, contract, &proof, values, rapid.Int64Range(0, 40).Draw(t, "length"), verdicts)
		}
	})
	for _, v := range []string{"length refused", "region refused", "passed"} {
		require.NotZero(t, verdicts[v], v)
	}
}

// prove compares what the contract says of one launch with a run.
func (n *nest) prove(t *rapid.T, contract *Contract, proof *Proof, values []int64, length int64, verdicts map[string]int) {
	env := ir.Values{n.x: {Len: length, Cap: length}}
	for i, p := range n.params {
		env[p] = ir.Value{Bits: ir.Bits(values[i])}
	}
	region := n.kernel.Task.Accesses[0].Region
	boxes, err := EvalRegion(region, length, env)
	if err != nil {
		return
	}
	held := map[int64]bool{}
	for _, b := range boxes {
		for _, at := range elements(b, 0, 0) {
			held[at] = true
		}
	}
	plain := true
	for _, l := range n.loops {
		plain = plain && !ir.ExprVars(l.Lo).Has(n.loops[0].Var) && !ir.ExprVars(l.Hi).Has(n.loops[0].Var)
	}
	touched, leaves, strays := map[int64]bool{}, false, false
	n.run(values, func(u use, at int64) {
		touched[at] = true
		if u.guard < 0 {
			leaves, strays = leaves || at < 0 || at >= length, strays || !held[at]
		}
	})
	proof.Load(n.kernel, contract, env)
	inside := proof.Inside([][]Box{boxes})
	for _, c := range []struct {
		name string
		err  error
		must bool
		bad  func(at int64) bool
	}{
		{"length", proof.Lengths(), leaves && plain && inside == nil, func(at int64) bool { return at < 0 || at >= length }},
		{"region", inside, strays && len(region.Dims) > 0 && plain && len(region.Shape) == 0, func(at int64) bool { return !held[at] }},
	} {
		if c.err == nil {
			require.False(t, c.must, "%s is not refused with %v, length %d, in\n%s", c.name, values, length, n.kernel)
			verdicts["passed"]++
			continue
		}
		verdicts[c.name+" refused"]++
		var e *AccessError
		require.True(t, errors.As(c.err, &e) && errors.Is(c.err, ir.ErrBounds))
		require.True(t, touched[e.First] && touched[e.Last] && (c.bad(e.First) || c.bad(e.Last)),
			"%v, with %v, length %d, of\n%s", e, values, length, n.kernel)
	}
}

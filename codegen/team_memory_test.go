package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/target"
)

// teamMemory is the most team memory of a launch of a program.
func teamMemory(p *ir.Program) (most ir.Bytes) {
	for _, l := range p.Launches {
		var sum ir.Bytes
		for _, v := range l.Team {
			sum += (v.Type.Size + 15) / 16 * 16
		}
		most = max(most, sum)
	}
	return most
}

// What the strategies add to the team memory that a kernel takes anyway fits what a device has.
func TestTeamMemory_FitsTheDevice(t *testing.T) {
	t.Parallel()
	p := loadCorpus(t)
	smaller := 0
	for _, c := range corpus {
		kernel := name(c.kernel)
		lower := func(memory ir.Bytes, opt codegen.LowerOptions) (ir.Bytes, *target.Target) {
			opt.Device = target.Description{Name: "test", TeamMemory: memory}.Of(target.Default())
			return teamMemory(lowerKernel(t, p, kernel, opt).Program), opt.Device
		}
		for _, opt := range []codegen.LowerOptions{{NoShuffles: true, TeamUnit: 32}, {TeamUnit: 32}} {
			least, _ := lower(1, opt)
			large, _ := lower(1<<20, opt)
			for _, memory := range []ir.Bytes{8 << 10, 32 << 10} {
				if memory > 8<<10 && (testing.Short() || large <= 8<<10) {
					continue // the smaller one has been tried, or holds what there is
				}
				got, on := lower(memory, opt)
				require.LessOrEqual(t, got, max(on.Memory.StaticShared, least), "%s, %d bytes, %+v", kernel, memory, opt.TeamUnit)
				if got < large {
					smaller++
				}
			}
		}
	}
	require.Greater(t, smaller, 10, "kernels that have other forms there")
}

//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// TestLanguageOnTheCPU runs the parts of the language that have vector code: it agrees with Go, too.
func TestLanguageOnTheCPU(t *testing.T) {
	t.Parallel()
	p := loadLanguage(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for machine, o := range cpuMachines(t) {
		ran := 0
		for _, c := range languageCases {
			full, args := instanceOf(c)
			if c.tolerance > 0 {
				c.tolerance = 1e-6 // float32(math.Exp(float64(x))) is the float32 function here
			}
			k, err := p.Kernel(full)
			if args != nil {
				k, err = p.Instance(full, args...)
			}
			require.NoError(t, err)
			code, err := cpu.Compile(codegen.ForCPU(k), o)
			if err != nil {
				var refusal *cpu.Refusal
				require.ErrorAs(t, err, &refusal)
				t.Logf("%s: %s runs as Go: %v", machine, full, refusal)
				continue
			}
			prog, err := arena.Install(code)
			require.NoError(t, err)
			ran++
			t.Run(machine+"/"+full, func(t *testing.T) {
				if c.tolerance == 0 {
					skipWhereGoDiffers(t, k)
				}
				c.onCPU(t, k, cpu.NewRunner(prog), code)
			})
		}
		require.Greater(t, ran, 5)
	}
}

package codegen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
)

// TestLanguageOnADevice runs every part of the language on an accelerator, a GPU where there is one, and compares with the Go function.
func TestLanguageOnADevice(t *testing.T) {
	spec := deviceSpec()
	d, closeDevice := openCorpusDevice(t, spec)
	defer closeDevice()
	p := loadLanguage(t)
	for _, c := range languageCases {
		full, args := instanceOf(c)
		t.Run(strings.Join(append([]string{full}, args...), "_"), func(t *testing.T) {
			skipWhereGoSaturates(t, full)
			k, err := p.Kernel(full)
			if args != nil {
				k, err = p.Instance(full, args...)
			}
			require.NoError(t, err)
			l, err := codegen.Lower(k, d.lowering())
			require.NoError(t, err)
			kernel := &devices.Kernel{Name: full, Program: l.Program}
			require.NoError(t, d.Prepare(kernel))
			for _, n := range []int{1, 7, 333} {
				want, got := c.makeArgs(n), c.makeArgs(n)
				c.runGo(want)
				require.NoError(t, d.run(kernel, got), "size %d on %s", n, spec)
				if diff := c.differ(want, got); diff != "" {
					t.Fatalf("size %d on %s: %s", n, spec, diff)
				}
			}
		})
	}
}

// TestSeveralReductionsOnADevice: each construct that reduces into a variable goes on with what the one before it found.
func TestSeveralReductionsOnADevice(t *testing.T) {
	d, closeDevice := openCorpusDevice(t, deviceSpec())
	defer closeDevice()
	for _, form := range severalForms {
		t.Run(strings.ReplaceAll(form, " ", "_"), func(t *testing.T) {
			l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int64) {\n"+
				strings.ReplaceAll(severalReductions, "FORM", form)+"\n}\n", d.lowering())
			require.NoError(t, err)
			k := &devices.Kernel{Name: "K", Program: l.Program}
			require.NoError(t, d.Prepare(k))
			x := make([]int64, 20)
			for i := range x {
				x[i] = int64(i)
			}
			require.NoError(t, d.run(k, []any{x}))
			require.Equal(t, severalReductionsGive, x[:len(severalReductionsGive)])
		})
	}
}

func openCorpusDevice(t *testing.T, spec string) (d *corpusDevice, closeIt func()) {
	m, err := machine.Open(spec, machine.Options{})
	require.NoError(t, err)
	return &corpusDevice{Accelerator: m.Accelerators()[0]}, func() { require.NoError(t, m.Close()) }
}

//go:build linux && amd64

package cpu

import (
	"slices"
	"testing"

	"github.com/klauspost/cpuid/v2"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestProcessorsWithLess takes features away.
func TestProcessorsWithLess(t *testing.T) {
	all := Processor{Supports: func(...cpuid.FeatureID) bool { return true }}
	less := func(off cpuid.FeatureID) Processor {
		return Processor{Supports: func(ids ...cpuid.FeatureID) bool { return !slices.Contains(ids, off) }}
	}
	for _, c := range []struct {
		p    Processor
		name string
		want Options
		err  string
	}{
		{all, "", Options{AVX512: true}, ""}, {all, "avx512", Options{AVX512: true}, ""}, {all, "avx2", Options{}, ""}, {all, "off", Options{}, "switched off"},
		{less(cpuid.AVX512VL), "", Options{}, ""}, {less(cpuid.AVX512DQ), "avx512", Options{}, "no AVX-512"},
		{less(cpuid.FMA3), "", Options{}, ErrNoVectorUnit.Error()}, {less(cpuid.BMI2), "avx2", Options{}, ErrNoVectorUnit.Error()},
		{all, "sse", Options{}, `vector "sse": want avx512, avx2, neon, off or nothing`},
	} {
		o, err := c.p.Choose(c.name)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, o)
	}
	_, err := Without(cpuid.AVX512F, cpuid.AVX2).Detect()
	require.ErrorIs(t, err, ErrNoVectorUnit)
	if o, err := Without(cpuid.AVX512F).Detect(); err == nil {
		require.False(t, o.AVX512)
	}
}

// TestArena_RunsKernelsByProtection refuses memory files: kernels run in pages that mprotect has made executable.
func TestArena_RunsKernelsByProtection(t *testing.T) {
	a, err := Memory{File: func(string, int) (int, error) { return 0, unix.ENOSYS }}.NewArena()
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	require.Equal(t, "mprotect", a.How())
	code, err := Compile(triad(), Options{})
	require.NoError(t, err)
	p, err := a.Install(code)
	require.NoError(t, err)
	for n := range 20 {
		checkTriad(t, NewRunner(p), n, code)
	}
}

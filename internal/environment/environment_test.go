package environment

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnknown_NamesTheVariableThatIsMeant(t *testing.T) {
	require.Equal(t, []string{
		prefix + "COLOUR: unknown variable, which has no effect",
		prefix + "DEVICE: unknown variable, which has no effect (GOMPSS_DEVICES is one)",
		prefix + "TRCAE: unknown variable, which has no effect (GOMPSS_TRACE is one)",
	}, Unknown([]string{"PATH=/bin", prefix + "TRCAE=summary", prefix + "DEVICE=smp", "GOMPSS_DEVICES=smp", prefix + "TEST_WHATEVER=1", prefix + "COLOUR=red"}))
}

func TestWarn_Once(t *testing.T) {
	t.Setenv(prefix+"VECTORS", "off")
	var out bytes.Buffer
	Warn(&out)
	Warn(&out)
	require.Equal(t, "gompss: "+prefix+"VECTORS: unknown variable, which has no effect (GOMPSS_VECTOR is one)\n", out.String())
}

package learn

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTimes_AFileThatIsNotThereIsNoError(t *testing.T) {
	var l Times
	require.NoError(t, l.Load(filepath.Join(t.TempDir(), "none")))
	require.NotNil(t, l.Learned)
}

func TestTimes_SaveIsReadByLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times")
	var l, again Times
	require.NoError(t, l.Load(file))
	require.NoError(t, l.Save(), "a policy that does not learn")
	require.NoFileExists(t, file)
	l.On = true
	require.NoError(t, l.Check())
	require.NoFileExists(t, file, "Check leaves nothing")
	require.NoError(t, l.Save())
	require.NoError(t, again.Load(file))
	list, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, list, 1, "no file but that of the times")
}

func TestTimes_BadFilesAndFoldersAreErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times")
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o644))
	var l Times
	require.ErrorContains(t, l.Load(file), file)
	none := filepath.Join(t.TempDir(), "none", "times")
	require.NoError(t, l.Load(none))
	l.On = true
	require.ErrorContains(t, l.Check(), "cannot be written")
	require.ErrorContains(t, l.Save(), "learned times")
}

// The policy is asked after each task until it knows, and then after every agreeInterval-th.
func TestAgreement_IsDue(t *testing.T) {
	var a Agreement
	for range 5 {
		require.True(t, a.Due())
	}
	a.Set(true, true)
	require.False(t, a.Disagrees())
	require.True(t, a.Known())
	due := 0
	for range 10 * agreeInterval {
		if a.Due() {
			due++
		}
	}
	require.Equal(t, 10, due)
	a.Set(false, false)
	require.True(t, a.Disagrees())
	require.True(t, a.Due())
}

func TestAgreementTable_SizesAreClasses(t *testing.T) {
	var table AgreementTable
	require.Same(t, table.Of(7, 1000), table.Of(7, 1023))
	require.NotSame(t, table.Of(7, 1000), table.Of(7, 1024))
	require.NotSame(t, table.Of(7, 1000), table.Of(8, 1000))
}

package task_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime/pprof"
	"runtime/trace"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// The CPU profile of a run with "profile" names tasks and devices, and so do the regions of Go's tracer.
func TestProfilesNameTasks(t *testing.T) {
	var profile, regions bytes.Buffer
	require.NoError(t, pprof.StartCPUProfile(&profile))
	require.NoError(t, trace.Start(&regions))
	rt, err := task.New(task.Options{Devices: "smp:1", Trace: "profile"})
	require.NoError(t, err)
	spin := func() error {
		for began := processorTime(t); processorTime(t)-began < 300e6; { // time that the profiler counts, however little others leave
		}
		return nil
	}
	_, err = rt.Go(spin, task.Label("spinning-task"))
	require.NoError(t, err)
	require.NoError(t, rt.Close())
	trace.Stop()
	pprof.StopCPUProfile()
	z, err := gzip.NewReader(&profile)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Contains(t, labelsOf(t, text), map[string]string{"task": "spinning-task", "device": "smp"})
	require.Contains(t, regions.String(), "spinning-task")
}

// labelsOf returns the labels of the samples of a CPU profile, by the field numbers of pprof's profile.proto.
func labelsOf(t *testing.T, profile []byte) (out []map[string]string) {
	type pair struct{ key, value uint64 }
	var texts []string
	var samples [][]pair
	each := func(b []byte, f func(field protowire.Number, number uint64, bytes []byte)) {
		for len(b) > 0 {
			field, kind, n := protowire.ConsumeTag(b)
			require.Positive(t, n)
			b = b[n:]
			var number uint64
			var bytes []byte
			if kind == protowire.BytesType {
				bytes, n = protowire.ConsumeBytes(b)
			} else {
				number, n = protowire.ConsumeVarint(b)
			}
			require.Positive(t, n)
			b = b[n:]
			f(field, number, bytes)
		}
	}
	each(profile, func(field protowire.Number, _ uint64, bytes []byte) {
		switch field {
		case 6:
			texts = append(texts, string(bytes))
		case 2:
			var labels []pair
			each(bytes, func(field protowire.Number, _ uint64, bytes []byte) {
				if field != 3 {
					return
				}
				var l pair
				each(bytes, func(field protowire.Number, number uint64, _ []byte) {
					switch field {
					case 1:
						l.key = number
					case 2:
						l.value = number
					}
				})
				labels = append(labels, l)
			})
			samples = append(samples, labels)
		}
	})
	for _, labels := range samples {
		m := map[string]string{}
		for _, l := range labels {
			m[texts[l.key]] = texts[l.value]
		}
		out = append(out, m)
	}
	return out
}

package export_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"path/filepath"
	"testing"

	"github.com/gompss/gompss/trace/export"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
)

// batchFile returns a trace file whose one batch is payload, with the checksum that it needs.
func batchFile(tb testing.TB, payload []byte) []byte {
	var out bytes.Buffer
	w := record.NewWriter(&out)
	if err := w.Open(&probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 2, Host: true}, {Name: "sim:0", Kind: "sim", Memory: 1 << 20}}}); err != nil {
		tb.Fatal(err)
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	file := append(out.Bytes(), "\xf5GTB\x02"...)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(payload)))
	file = binary.LittleEndian.AppendUint32(file, crc32.Update(crc32.Checksum([]byte{2}, table), table, payload))
	return append(file, payload...)
}

// payloadOf returns the batch of a run as it is in a file.
func payloadOf(tb testing.TB, r *run.Run) []byte {
	var with bytes.Buffer
	w := record.NewWriter(&with)
	if err := w.Open(&r.Machine); err != nil {
		tb.Fatal(err)
	}
	head := with.Len()
	if err := w.Take(r.Records()); err != nil {
		tb.Fatal(err)
	}
	return with.Bytes()[head+13:]
}

// Whatever numbers a file holds, with checksums that are right, it is summed up and exported
// without a panic.
func FuzzExports(f *testing.F) {
	r := recorded(f)
	few, records := run.New(0), r.Records()
	few.Machine, few.Points = r.Machine, r.Points[:min(10, len(r.Points))]
	few.Append(records.Tasks[:10]...)
	few.AppendDetails(records.Details[:20]...)
	few.Finish()
	f.Add(payloadOf(f, few))
	f.Add(payloadOf(f, million(4)))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := run.Read(bytes.NewReader(batchFile(t, payload)))
		if err != nil {
			return
		}
		if err := r.Summary().Write(io.Discard); err != nil {
			t.Fatal(err)
		}
		for _, format := range export.Formats() {
			if err := export.Write(io.Discard, format, r); err != nil {
				t.Fatal(format, err)
			}
		}
		if crc32.ChecksumIEEE(payload)%16 != 0 { // files take time
			return
		}
		if err := export.Paraver(filepath.Join(dir, "run"), r); err != nil {
			t.Fatal(err)
		}
	})
}

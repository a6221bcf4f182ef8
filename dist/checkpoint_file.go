package dist

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sort"
)

// The file of a checkpoint, all numbers little-endian:
//
//	8 bytes    checkpointMagic
//	4, 4       the length of the head, and its checksum
//	           the head: JSON of checkpointHead
//	at Table   of each slice: the end of each block (8 bytes, in elements) and its writer (4)
//	at Sums    the checksum of each block (4)
//	at Offset  the elements, as they are in memory
//
// Rank 0 writes the head and the tables, the owner of a block its elements and their checksum.
// Checksums are CRC-32C.
const checkpointMagic = "GOMPSSC2"

const (
	headAt      = len(checkpointMagic) + 8
	blockBytes  = 1 << 20 // most of a block, where an element is not larger
	extentBytes = 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

type checkpointHead struct{ Slices []savedHead }

type savedHead struct {
	Name     string
	Elements int
	Bytes    int // of an element
	Blocks   int
	TableSum uint32 // the checksum of the table
	Table    int64
	Sums     int64
	Offset   int64

	blocks []ownedRange
}

// headOf lays the slices out. All ranks compute the same.
func headOf(w *World, slices []Saved) (*checkpointHead, error) {
	h := &checkpointHead{}
	for _, s := range slices {
		parts, err := partsOf(w, s.elements(), s.access)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		of := savedHead{Name: s.name, Elements: s.elements(), Bytes: s.elem, blocks: blocksOf(parts, s.elem)}
		of.Blocks, of.TableSum = len(of.blocks), checksum(of.table())
		h.Slices = append(h.Slices, of)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	at := int64(headAt+len(text)) + 64*int64(len(slices)) // offsets are digits of the head
	for i := range h.Slices {
		of := &h.Slices[i]
		of.Table = at
		of.Sums = of.Table + extentBytes*int64(of.Blocks)
		at = of.Sums + 4*int64(of.Blocks)
	}
	for i := range h.Slices {
		of := &h.Slices[i]
		of.Offset = (at + 4095) / 4096 * 4096
		at = of.Offset + int64(of.Elements)*int64(of.Bytes)
	}
	return h, nil
}

// blocksOf cuts parts into blocks.
func blocksOf(parts []ownedRange, elem int) (blocks []ownedRange) {
	most := max(1, blockBytes/max(1, elem))
	for _, p := range parts {
		for lo := p.Lo; lo < p.Hi; lo += most {
			blocks = append(blocks, ownedRange{Range{lo, min(lo+most, p.Hi)}, p.rank})
		}
	}
	return blocks
}

func (s *savedHead) table() []byte {
	out := make([]byte, 0, extentBytes*len(s.blocks))
	for _, b := range s.blocks {
		out = binary.LittleEndian.AppendUint64(out, uint64(b.Hi))
		out = binary.LittleEndian.AppendUint32(out, uint32(b.rank))
	}
	return out
}

// write writes the head and the tables, and gives the file its length.
func (h *checkpointHead) write(f *os.File) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	out := binary.LittleEndian.AppendUint32([]byte(checkpointMagic), uint32(len(text)))
	out = binary.LittleEndian.AppendUint32(out, checksum(text))
	_, err = f.WriteAt(append(out, text...), 0)
	end := int64(0)
	for i := range h.Slices {
		of := &h.Slices[i]
		_, tableErr := f.WriteAt(of.table(), of.Table)
		err = errors.Join(err, tableErr)
		end = of.Offset + int64(of.Elements)*int64(of.Bytes)
	}
	return errors.Join(err, f.Truncate(end))
}

// writeBlocks writes the blocks of a rank and their checksums.
func (h *checkpointHead) writeBlocks(f io.WriterAt, rank int, slices []Saved) error {
	for i := range h.Slices {
		of := &h.Slices[i]
		for n, b := range of.blocks {
			if b.rank != rank {
				continue
			}
			data := slices[i].data[b.Lo*of.Bytes : b.Hi*of.Bytes]
			if _, err := f.WriteAt(data, of.Offset+int64(b.Lo*of.Bytes)); err != nil {
				return err
			}
			if _, err := f.WriteAt(binary.LittleEndian.AppendUint32(nil, checksum(data)), of.Sums+4*int64(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// readHead reads the head and checks it.
func readHead(f io.ReaderAt) (h checkpointHead, err error) {
	var first [headAt]byte
	if _, err := f.ReadAt(first[:], 0); err != nil || string(first[:len(checkpointMagic)]) != checkpointMagic {
		return h, errors.New("no file of Checkpoint, or of another version")
	}
	length := binary.LittleEndian.Uint32(first[len(checkpointMagic):])
	if length > 1<<26 {
		return h, fmt.Errorf("the head has %d bytes: the file is damaged", length)
	}
	text := make([]byte, length)
	if _, err := f.ReadAt(text, int64(headAt)); err != nil {
		return h, fmt.Errorf("the head: %w", cutOff(err))
	}
	if checksum(text) != binary.LittleEndian.Uint32(first[len(checkpointMagic)+4:]) {
		return h, errors.New("the head: the file is damaged: the checksum differs")
	}
	return h, wrap("the head", json.Unmarshal(text, &h))
}

// cutOff names the end of the file for what it is.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file is cut off")
	}
	return err
}

// find returns the entry of a slice.
func (h *checkpointHead) find(s Saved) (*savedHead, error) {
	for i := range h.Slices {
		of := &h.Slices[i]
		switch {
		case of.Name != s.name:
		case of.Bytes != s.elem || of.Elements != s.elements():
			return nil, fmt.Errorf("%s: the file has %d elements of %d bytes, the slice %d of %d", s.name, of.Elements, of.Bytes, s.elements(), s.elem)
		default:
			return of, nil
		}
	}
	return nil, fmt.Errorf("%s: not in the file", s.name)
}

// readTable reads the blocks and their checksums.
func (s *savedHead) readTable(f io.ReaderAt) (sums []uint32, err error) {
	if s.Blocks < 0 || s.Blocks > s.Elements {
		return nil, fmt.Errorf("%d blocks of %d elements: the file is damaged", s.Blocks, s.Elements)
	}
	text := make([]byte, extentBytes*s.Blocks)
	if _, err := f.ReadAt(text, s.Table); err != nil && len(text) > 0 {
		return nil, fmt.Errorf("the table of blocks: %w", cutOff(err))
	}
	if checksum(text) != s.TableSum {
		return nil, errors.New("the table of blocks: the file is damaged: the checksum differs")
	}
	lo := 0
	for ; len(text) > 0; text = text[extentBytes:] {
		hi := int(binary.LittleEndian.Uint64(text))
		s.blocks = append(s.blocks, ownedRange{Range{lo, hi}, int(binary.LittleEndian.Uint32(text[8:]))})
		lo = hi
	}
	text = make([]byte, 4*s.Blocks)
	if _, err := f.ReadAt(text, s.Sums); err != nil && len(text) > 0 {
		return nil, fmt.Errorf("the checksums of blocks: %w", cutOff(err))
	}
	for ; len(text) > 0; text = text[4:] {
		sums = append(sums, binary.LittleEndian.Uint32(text))
	}
	return sums, nil
}

// read reads parts, ascending, into the slice. It checks each block that has some of them.
func (s *savedHead) read(f io.ReaderAt, into Saved, parts []ownedRange) error {
	sums, err := s.readTable(f)
	if err != nil {
		return err
	}
	var scratch []byte
	last := -1 // the block in scratch
	for _, p := range parts {
		n := sort.Search(len(s.blocks), func(n int) bool { return s.blocks[n].Hi > p.Lo })
		for ; n < len(s.blocks) && s.blocks[n].Lo < p.Hi; n++ {
			b := s.blocks[n]
			if p.Lo <= b.Lo && b.Hi <= p.Hi {
				if err := s.readBlock(f, n, sums[n], into.data[b.Lo*s.Bytes:b.Hi*s.Bytes]); err != nil {
					return err
				}
				continue
			}
			if last != n {
				scratch = append(scratch[:0], make([]byte, (b.Hi-b.Lo)*s.Bytes)...)
				if err := s.readBlock(f, n, sums[n], scratch); err != nil {
					return err
				}
				last = n
			}
			lo, hi := max(p.Lo, b.Lo), min(p.Hi, b.Hi)
			copy(into.data[lo*s.Bytes:hi*s.Bytes], scratch[(lo-b.Lo)*s.Bytes:])
		}
	}
	return nil
}

// readBlock reads block n and checks it.
func (s *savedHead) readBlock(f io.ReaderAt, n int, sum uint32, into []byte) error {
	b := s.blocks[n]
	_, err := f.ReadAt(into, s.Offset+int64(b.Lo*s.Bytes))
	if err = cutOff(err); err == nil && checksum(into) != sum {
		err = errors.New("the file is damaged: the checksum differs")
	}
	return wrap(fmt.Sprintf("block %d (elements %d to %d, written by rank %d)", n, b.Lo, b.Hi, b.rank), err)
}

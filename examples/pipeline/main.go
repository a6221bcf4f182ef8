// Command pipeline compresses standard input, or a file, to standard output: it reads a chunk,
// compresses it and writes it, each step a task, with several chunks in flight. The output is a
// gzip file of several members.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/gompss/gompss/task"
)

func main() {
	in := flag.String("in", "", "file to compress; empty: standard input")
	chunk := flag.Int("chunk", 1<<20, "bytes of a chunk")
	depth := flag.Int("depth", 8, "chunks in flight")
	workers := flag.Int("workers", 0, "CPU workers; 0: one for each processor")
	flag.Parse()
	if *chunk < 1 || *depth < 1 || *workers < 0 {
		log.Fatalf("-chunk %d -depth %d -workers %d: want positive numbers", *chunk, *depth, *workers)
	}
	source := os.Stdin
	if *in != "" {
		f, err := os.Open(*in)
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		source = f
	}
	devices := "smp"
	if *workers > 0 {
		devices = fmt.Sprintf("smp:%d", *workers)
	}
	chunks, err := compress(devices, source, os.Stdout, *chunk, *depth)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, chunks, "chunks")
}

// A slot holds one chunk on its way through the stages.
type slot struct {
	plain  []byte // read into it
	n      int    // bytes of plain that were read; what orders Read and Pack
	packed bytes.Buffer
	length int // of packed; what orders Pack and Write
}

// The stages of the pipeline. Read and Write go through the input and the output in order, as each
// has an inout access to its position; Pack has none, so that chunks are packed at the same time. A
// slot is read into again when its chunk has been written.
type pipeline struct {
	rt                *task.Runtime
	in                io.Reader
	out               io.Writer
	position, written int
	slots             []slot
}

// compress returns the number of chunks, of which at most depth are in memory.
func compress(devices string, in io.Reader, out io.Writer, chunk, depth int) (chunks int, err error) {
	rt, err := task.New(task.Options{Devices: devices})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	p := &pipeline{rt: rt, in: in, out: out, slots: make([]slot, depth)}
	for i := range p.slots {
		p.slots[i].plain = make([]byte, chunk)
	}
	for i := 0; ; i++ {
		s := &p.slots[i%depth]
		if i >= depth { // the slot's chunk before this one; it tells whether the input has ended
			if err := rt.WaitOn(context.Background(), task.In(task.One(&s.n))); err != nil {
				return 0, err
			}
			if s.n < chunk {
				break
			}
		}
		if err := p.submit(s); err != nil {
			return 0, err
		}
	}
	if err := rt.Wait(context.Background()); err != nil {
		return 0, err
	}
	return (p.position + chunk - 1) / chunk, nil
}

// submit sends the next chunk through s.
func (p *pipeline) submit(s *slot) error {
	position, written, n, length := task.One(&p.position), task.One(&p.written), task.One(&s.n), task.One(&s.length)
	if _, err := p.rt.Go(func() error { return p.read(s) }, task.InOut(position), task.Out(n), task.Label("Read")); err != nil {
		return err
	}
	if _, err := p.rt.Go(s.pack, task.In(n), task.Out(length), task.Label("Pack")); err != nil {
		return err
	}
	_, err := p.rt.Go(func() error { return p.write(s) }, task.In(length), task.InOut(written), task.Label("Write"))
	return err
}

func (p *pipeline) read(s *slot) (err error) {
	s.n, err = io.ReadFull(p.in, s.plain)
	p.position += s.n
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // n says so
		return nil
	}
	return err
}

func (s *slot) pack() error {
	s.packed.Reset()
	if s.n == 0 {
		s.length = 0
		return nil
	}
	z := gzip.NewWriter(&s.packed)
	_, err := z.Write(s.plain[:s.n])
	err = errors.Join(err, z.Close())
	s.length = s.packed.Len()
	return err
}

func (p *pipeline) write(s *slot) error {
	n, err := p.out.Write(s.packed.Bytes())
	p.written += n
	return err
}

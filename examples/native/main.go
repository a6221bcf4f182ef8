// Command native counts the bytes of a file and prints their entropy. On an NVIDIA GPU the tasks
// run a kernel in CUDA C++ that is written by hand, and elsewhere what the compiler makes of the Go
// function.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
)

func main() {
	file := flag.String("file", "", "the file; empty: 16 MiB of text that the program makes")
	block := flag.Int("block", 1<<22, "bytes of one task")
	devices := flag.String("devices", "", "devices, such as smp:2,sim:2; empty: $GOMPSS_DEVICES, else auto")
	flag.Parse()
	data := sample(16 << 20)
	if *file != "" {
		var err error
		if data, err = os.ReadFile(*file); err != nil {
			log.Fatal(err)
		}
	}
	counts, bits, err := measure(*devices, data, *block)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes, %d different ones, %.4f bits each\n", len(data), different(counts), bits)
}

// measure returns how often each byte occurs in data, and the entropy of a byte.
func measure(devices string, data []byte, block int) (counts []uint32, bits float64, err error) {
	if len(data) == 0 || block < 1 {
		return nil, 0, fmt.Errorf("%d bytes in blocks of %d: want at least 1", len(data), block)
	}
	rt, err := task.New(task.Options{Devices: devices})
	if err != nil {
		return nil, 0, err
	}
	defer rt.Close()
	counts = make([]uint32, 256)
	for lo := 0; lo < len(data); lo += block {
		part := data[lo:min(lo+block, len(data))]
		if _, err := SubmitCount(rt, len(part), part, counts); err != nil {
			return nil, 0, err
		}
	}
	if _, err := SubmitEntropy(rt, len(data), counts, &bits); err != nil {
		return nil, 0, err
	}
	return counts, bits, rt.Wait(context.Background())
}

func different(counts []uint32) int {
	n := 0
	for _, c := range counts {
		if c > 0 {
			n++
		}
	}
	return n
}

// sample returns n bytes with the letters of a text.
func sample(n int) []byte {
	const text = "the order of the tasks follows from what each task declares that it reads and writes. "
	data := make([]byte, n)
	for i := range data {
		data[i] = text[(i+i*i/7)%len(text)]
	}
	return data
}

// Command outofcore works on more data than its accelerators have memory. The runtime evicts what
// was used least recently, and writes changed data back.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
)

func main() {
	devices := flag.String("devices", "sim:2(memory=1MiB)", "accelerators, with their memory")
	blocks := flag.Int("blocks", 32, "blocks of two slices of 16,384 numbers, 256 KiB in all")
	flag.Parse()
	r, err := run(*devices, *blocks)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("sum %v; %v of data, %d evictions, %v to the devices, %v back\n", r.sum, r.data, r.stats.Evictions, r.stats.HostToDevice, r.stats.DeviceToHost)
}

const block = 1 << 14

type result struct {
	sum   float64
	data  task.Bytes
	stats task.Stats
}

func run(devices string, blocks int) (r result, err error) {
	if blocks < 1 {
		return r, fmt.Errorf("-blocks %d: want at least 1", blocks)
	}
	rt, err := task.New(task.Options{Devices: devices})
	if err != nil {
		return r, err
	}
	defer rt.Close()
	x, y := make([]float64, blocks*block), make([]float64, blocks*block)
	for i := range x {
		x[i] = float64(i % 3)
	}
	for range 3 { // each pass needs all blocks again
		for b := range blocks {
			lo, hi := b*block, (b+1)*block
			if _, err := SubmitAccumulate(rt, 2, x[lo:hi], y[lo:hi]); err != nil {
				return r, err
			}
		}
	}
	if err := rt.Wait(context.Background()); err != nil {
		return r, err
	}
	for _, v := range y {
		r.sum += v
	}
	r.data, r.stats = task.Bytes(16*len(x)), rt.Stats()
	return r, nil
}

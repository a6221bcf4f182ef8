// Command matmul multiplies two matrices. One call cuts the product into tasks for tiles of rows,
// which all devices share.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
)

func main() {
	n := flag.Int("n", 512, "rows and columns")
	tiles := flag.Int("tiles", 0, "tasks; 0: four for each worker and accelerator")
	devices := flag.String("devices", "", "devices, such as smp:2,sim:2; empty: $GOMPSS_DEVICES, else auto")
	flag.Parse()
	if *n < 1 {
		log.Fatalf("-n %d: want at least 1", *n)
	}
	a, b := matrix(*n, *n, 1), matrix(*n, *n, 2)
	began := time.Now()
	c, tasks, err := multiply(*devices, *tiles, *n, *n, *n, a, b)
	if err != nil {
		log.Fatal(err)
	}
	took := time.Since(began)
	fmt.Printf("%d tasks, %v with compilation and copies, c[0] = %v\n", tasks, took.Round(time.Millisecond), c[0])
}

// multiply returns the product of a, n by k, and b, k by m, and the number of tasks.
func multiply(devices string, tiles, n, k, m int, a, b []float32) ([]float32, int, error) {
	rt, err := task.New(task.Options{Devices: devices})
	if err != nil {
		return nil, 0, err
	}
	defer rt.Close()
	c := make([]float32, n*m)
	var options []task.LoopOption
	if tiles > 0 {
		options = append(options, task.Tasks(tiles))
	}
	tasks, err := TaskloopMatMul(rt, 0, n, k, m, a, b, c, options...)
	if err != nil {
		return nil, 0, err
	}
	return c, len(tasks), rt.Wait(context.Background())
}

// matrix returns n by m numbers between -1 and 1.
func matrix(n, m int, seed uint32) []float32 {
	out := make([]float32, n*m)
	for i := range out {
		seed = seed*1664525 + 1013904223
		out[i] = float32(int32(seed)>>8) / (1 << 23)
	}
	return out
}

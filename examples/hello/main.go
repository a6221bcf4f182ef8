// Command hello runs a kernel as two tasks and prints what they computed. With GOMPSS_PRINT=1 the
// kernel prints, too, on whatever device it runs.
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
	devices := flag.String("devices", "", "devices, such as smp:2,sim:2; empty: $GOMPSS_DEVICES, else auto")
	flag.Parse()
	y, err := squares(*devices, 8)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)
}

// squares returns the squares of 0 to n-1, which two tasks compute.
func squares(devices string, n int) ([]int, error) {
	rt, err := task.New(task.Options{Devices: devices})
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	y := make([]int, n)
	for _, half := range [][2]int{{0, n / 2}, {n / 2, n}} {
		if _, err := SubmitSquare(rt, half[0], y[half[0]:half[1]]); err != nil {
			return nil, err
		}
	}
	return y, rt.Wait(context.Background())
}

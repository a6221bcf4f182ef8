// Command policy registers a scheduling policy of its own (smallest.go) and runs tasks under it:
// the smallest go first.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
)

func main() {
	policy := flag.String("policy", "smallest", "scheduling policy: "+strings.Join(sched.Policies(), ", "))
	flag.Parse()
	order, err := run(*policy)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(*policy, order)
}

// run submits tasks of different sizes while the only worker is busy, and returns the order in
// which they ran.
func run(policy string) (order []int, err error) {
	rt, err := task.New(task.Options{Devices: "smp:1", Policy: policy})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	begun, gate := make(chan struct{}), make(chan struct{})
	_, err = rt.Go(func() error { close(begun); <-gate; return nil })
	if err != nil {
		return nil, errors.Join(err, rt.Close())
	}
	<-begun
	for _, size := range []int{30, 10, 50, 20, 40} {
		_, failed := rt.Go(func() error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, size)
			return nil
		}, task.Priority(size))
		err = errors.Join(err, failed)
	}
	close(gate)
	return order, errors.Join(err, rt.Wait(context.Background()), rt.Close())
}

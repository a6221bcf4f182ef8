//go:build linux && (amd64 || arm64)

package mpi_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gompss/gompss/dist/mpi"
)

// programs are what the ranks of the tests run.
var programs = map[string]func(m *mpi.Process){
	"calls": calls, "signals": recovered, "allocations": allocations, "goroutines": goroutines, "costs": costs, "abort": abort,
}

// runProgram runs a program as a rank and leaves the process.
func runProgram(name string) {
	m, err := mpi.Init(mpi.Multiple)
	if name == "singleton" || name == "mismatch" {
		fmt.Println(err)
		if m != nil {
			m.Finalize()
		}
		os.Exit(0)
	}
	must(err)
	programs[name](m)
	must(m.Finalize())
	must(m.Finalize()) // nothing
	fmt.Printf("rank %d ok\n", m.World().Rank())
	m.Exit(0)
}

func must(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(3)
	}
}

func check(ok bool, format string, args ...any) {
	if !ok {
		must(fmt.Errorf(format, args...))
	}
}

// calls uses every call with every neighbour.
func calls(m *mpi.Process) {
	w, err := m.World().Dup()
	must(err)
	me, n := w.Rank(), w.Size()
	right, left := (me+1)%n, (me+n-1)%n
	check(m.Level() == mpi.Multiple, "level %v", m.Level())

	if me == 0 {
		must(w.Send([]byte("hello"), right, 7))
	} else {
		got := make([]byte, 16)
		s, err := w.Recv(got, left, 7)
		must(err)
		check(s == mpi.Status{Source: left, Tag: 7, Bytes: 5} && string(got[:5]) == "hello", "received %q %+v", got, s)
		if me != n-1 {
			must(w.Send(got[:5], right, 7))
		}
	}

	for _, size := range []int{0, 8, 1 << 10, 1 << 20} {
		out, in := bytes.Repeat([]byte{byte(me)}, size), make([]byte, size)
		var send, recv mpi.Request
		must(w.Isend(out, right, 9, &send))
		for { // the message is seen before it is received
			s, come, err := w.Iprobe(mpi.AnySource, mpi.AnyTag)
			must(err)
			if come {
				check(s == mpi.Status{Source: left, Tag: 9, Bytes: size}, "probed %+v", s)
				break
			}
			runtime.Gosched()
		}
		must(w.Irecv(in, mpi.AnySource, mpi.AnyTag, &recv))
		for done := false; !done; {
			var s mpi.Status
			done, s, err = w.Test(&recv)
			must(err)
			check(!done || s == mpi.Status{Source: left, Tag: 9, Bytes: size}, "received %+v", s)
		}
		_, err := w.Wait(&send)
		must(err)
		check(!send.Active() && !recv.Active(), "active requests")
		check(bytes.Equal(in, bytes.Repeat([]byte{byte(left)}, size)), "wrong bytes of size %d", size)
		must(w.Barrier())
	}
	_, come, err := w.Iprobe(mpi.AnySource, mpi.AnyTag)
	must(err)
	check(!come, "a message that no rank has sent")

	data := []byte{byte(me + 1)}
	must(w.Bcast(data, n-1))
	check(data[0] == byte(n), "broadcast of %d", data[0])
	sum, in := make([]float64, 2), []float64{1, float64(me)}
	must(mpi.Reduce(w, in, sum, mpi.Sum, 1))
	check(me != 1 || sum[0] == float64(n) && sum[1] == float64(n*(n-1)/2), "reduced to %v", sum)
	must(mpi.Allreduce(w, in, sum, mpi.Max))
	check(sum[1] == float64(n-1), "maximum %v", sum)
	reduced(w, []float32{float32(me)}, float32(n*(n-1)/2))
	reduced(w, []int32{int32(me)}, int32(n*(n-1)/2))
	reduced(w, []int64{int64(me) << 40}, int64(n*(n-1)/2)<<40)
	reduced(w, []uint64{uint64(me) << 62}, uint64(n*(n-1)/2)<<62)
	all := make([]byte, 2*n)
	must(w.Gather([]byte{byte(me), 1}, all, 0))
	check(me != 0 || all[2*n-2] == byte(n-1), "gathered %v", all)
	clear(all)
	must(w.Allgather([]byte{byte(me), 1}, all))
	for r := range n {
		check(all[2*r] == byte(r) && all[2*r+1] == 1, "gathered %v", all)
	}
	bad := w.Send(nil, n, 0)
	check(bad != nil, "a send to rank %d of %d", n, n)
	e, ok := bad.(*mpi.Error)
	check(ok && e.Class == 6 && e.Call == "MPI_Send" && e.Text != "", "%#v", bad)
	must(w.Free())
}

func reduced[T mpi.Number](w *mpi.Comm, in []T, want T) {
	out := make([]T, 1)
	must(mpi.Allreduce(w, in, out, mpi.Sum))
	check(out[0] == want, "sum of %T: %v, want %v", want, out[0], want)
}

// recovered dereferences nil after Init.
func recovered(m *mpi.Process) {
	defer func() {
		check(recover() != nil, "no panic")
		fmt.Printf("%s, %s: %d handlers repaired\n", m.Path(), m.Interface(), m.SignalsRepaired())
	}()
	var p *int
	fmt.Println(*p)
}

// allocations counts those of calls that a progress loop makes.
func allocations(m *mpi.Process) {
	w := m.World()
	data, in := make([]byte, 64), make([]byte, 64)
	other := 1 - w.Rank()
	var send, recv mpi.Request
	a := testing.AllocsPerRun(1000, func() {
		must(w.Irecv(in, other, 1, &recv))
		must(w.Isend(data, other, 1, &send))
		for done := false; !done; {
			done, _, _ = w.Test(&recv)
		}
		for done := false; !done; {
			done, _, _ = w.Test(&send)
		}
		_, _, err := w.Iprobe(mpi.AnySource, 5)
		must(err)
	})
	check(a == 0, "%v allocations", a)
	began := time.Now()
	const calls = 100000
	for range calls {
		w.Iprobe(mpi.AnySource, 5)
	}
	fmt.Printf("Iprobe: %v\n", time.Since(began)/calls)
}

// goroutines has several goroutines exchange messages while the collector runs.
func goroutines(m *mpi.Process) {
	w := m.World()
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 50 {
				var r mpi.Request
				in := make([]byte, 1<<(i%18))
				must(w.Irecv(in, 1-w.Rank(), g, &r))
				out := bytes.Repeat([]byte{byte(i)}, len(in))
				var s mpi.Request
				must(w.Isend(out, 1-w.Rank(), g, &s))
				for done := false; !done; runtime.Gosched() {
					var err error
					done, _, err = w.Test(&r)
					must(err)
				}
				_, err := w.Wait(&s)
				must(err)
				check(in[len(in)-1] == byte(i), "wrong byte")
				if i%10 == 0 {
					runtime.GC()
				}
			}
		})
	}
	all.Wait()
}

// costs prints what calls take, as testdata/costs.c does: nanoseconds of a probe, then of half a
// round trip of three sizes.
func costs(m *mpi.Process) {
	w := m.World()
	best := func(rounds, repeat int, f func()) time.Duration {
		least := time.Duration(1 << 62)
		for range repeat {
			must(w.Barrier())
			began := time.Now()
			for range rounds {
				f()
			}
			least = min(least, time.Since(began)/time.Duration(rounds))
		}
		return least
	}
	show := func(name any, d time.Duration) {
		if w.Rank() == 0 {
			fmt.Println(name, d.Nanoseconds())
		}
	}
	show("probe", best(50000, 3, func() { w.Iprobe(mpi.AnySource, 5) }))
	for _, of := range []struct{ size, rounds int }{{8, 5000}, {64 << 10, 1000}, {16 << 20, 6}} {
		data := bytes.Repeat([]byte{1}, of.size)
		show(of.size, best(of.rounds, 5, func() {
			if w.Rank() == 0 {
				must(w.Send(data, 1, 0))
			}
			_, err := w.Recv(data, 1-w.Rank(), 0)
			must(err)
			if w.Rank() == 1 {
				must(w.Send(data, 0, 0))
			}
		})/2)
	}
}

func abort(m *mpi.Process) {
	if m.World().Rank() == 1 {
		m.Abort(9)
	}
	time.Sleep(30 * time.Second)
	fmt.Println("not reached")
}

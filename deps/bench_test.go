package deps

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// A workload is the accesses of a sequence of tasks, submitted again and again.
type workload struct {
	name  string
	tasks [][]Access
}

const benchWindow = 256

// window keeps benchWindow tasks in flight, completed in order of submission.
type window struct {
	domain Domain
	nodes  [benchWindow]Node
	next   int
}

func (w *window) submit(accesses []Access) {
	n := &w.nodes[w.next%benchWindow]
	if w.next >= benchWindow {
		w.domain.Complete(n, func(*Node, bool) {})
	}
	n.ID = 0
	w.domain.Submit(n, accesses)
	w.next++
}

func on(mode Mode, r Region) Access { return Access{Region: r, Mode: mode} }

func workloads() []workload {
	return []workload{
		{"chain1", chain(1)}, {"chain2", chain(2)}, {"chain3", chain(3)},
		{"trivial", trivial()}, {"stencil1d", stencil(16)}, {"random", random(16)}, {"cholesky", cholesky(16)},
		{"halo", halo(64)}, {"intervals", intervals(64)}, {"fresh", intervals(1 << 14)},
	}
}

// chain has 16 chains; every task updates n regions.
func chain(n int) (tasks [][]Access) {
	for c := range 16 {
		var as []Access
		for k := range n {
			as = append(as, on(InOut, Interval(BufferID(c), int64(k)*64, int64(k)*64+64)))
		}
		tasks = append(tasks, as)
	}
	return tasks
}

// trivial writes a region of its own in every task.
func trivial() (tasks [][]Access) {
	for i := range int64(512) {
		tasks = append(tasks, []Access{on(Out, Interval(0, 64*i, 64*i+64))})
	}
	return tasks
}

// stencil reads three columns and writes one of the other buffer.
func stencil(width int64) (tasks [][]Access) {
	for step := range BufferID(2) {
		for i := range width {
			var as []Access
			for j := max(0, i-1); j <= min(width-1, i+1); j++ {
				as = append(as, on(In, Interval(step, 64*j, 64*j+64)))
			}
			tasks = append(tasks, append(as, on(Out, Interval(1-step, 64*i, 64*i+64))))
		}
	}
	return tasks
}

// random reads three random columns and writes one.
func random(width int64) (tasks [][]Access) {
	r := rand.New(rand.NewPCG(1, 1))
	for step := range BufferID(64) {
		for i := range width {
			var as []Access
			for range 3 {
				j := r.Int64N(width)
				as = append(as, on(In, Interval(step%2, 64*j, 64*j+64)))
			}
			tasks = append(tasks, append(Merge(as), on(Out, Interval(1-step%2, 64*i, 64*i+64))))
		}
	}
	return tasks
}

// cholesky factors a matrix of n by n tiles in place, all in one buffer.
func cholesky(n int64) (tasks [][]Access) {
	const size = 64
	tile := func(i, j int64) Region {
		r, err := Box(0, 0, []int64{n * size, n * size}, []int64{i * size, j * size}, []int64{(i + 1) * size, (j + 1) * size})
		if err != nil {
			panic(err)
		}
		return r
	}
	for k := range n {
		tasks = append(tasks, []Access{on(InOut, tile(k, k))})
		for i := k + 1; i < n; i++ {
			tasks = append(tasks, []Access{on(In, tile(k, k)), on(InOut, tile(i, k))})
		}
		for i := k + 1; i < n; i++ {
			for j := k + 1; j < i; j++ {
				tasks = append(tasks, []Access{on(In, tile(i, k)), on(In, tile(j, k)), on(InOut, tile(i, j))})
			}
			tasks = append(tasks, []Access{on(In, tile(i, k)), on(InOut, tile(i, i))})
		}
	}
	return tasks
}

// halo reads its part of an array with two elements on both sides, as one region that overlaps its
// neighbours' parts.
func halo(parts int64) (tasks [][]Access) {
	for step := range BufferID(2) {
		for i := range parts {
			lo, hi := 64*i, 64*i+64
			tasks = append(tasks, []Access{on(In, Interval(step, max(0, lo-2), min(64*parts, hi+2))), on(Out, Interval(1-step, lo, hi))})
		}
	}
	return tasks
}

// intervals has tasks on random intervals that overlap in part; each is seen again only after n
// others.
func intervals(n int) (tasks [][]Access) {
	r := rand.New(rand.NewPCG(2, 2))
	for range n {
		lo := r.Int64N(1 << 16)
		tasks = append(tasks, []Access{on(Mode(r.IntN(3)), Interval(0, lo, lo+1+r.Int64N(1<<10)))})
	}
	return tasks
}

// BenchmarkGraph reports the time of one Submit and one Complete.
func BenchmarkGraph(b *testing.B) {
	for _, load := range workloads() {
		b.Run(load.name, func(b *testing.B) {
			var w window
			b.ReportAllocs()
			for i := 0; b.Loop(); {
				w.submit(load.tasks[i])
				if i++; i == len(load.tasks) {
					i = 0
				}
			}
		})
	}
}

// BenchmarkSubmit reports the time of Submit alone: batches of pending tasks, completed outside of
// the timing.
func BenchmarkSubmit(b *testing.B) {
	for _, load := range workloads()[:8] {
		b.Run(load.name, func(b *testing.B) {
			var d Domain
			nodes := make([]Node, 1024)
			for done := 0; done < b.N; done += len(nodes) {
				b.StopTimer()
				for i := range nodes {
					if done > 0 {
						d.Complete(&nodes[i], func(*Node, bool) {})
					}
					nodes[i].ID = 0
				}
				b.StartTimer()
				for i := range nodes {
					d.Submit(&nodes[i], load.tasks[(done+i)%len(load.tasks)])
				}
			}
		})
	}
}

// BenchmarkContended has every processor submit and complete tasks of its own in one domain.
func BenchmarkContended(b *testing.B) {
	var d Domain
	var mu sync.Mutex
	id := BufferID(0)
	b.RunParallel(func(pb *testing.PB) {
		mu.Lock()
		id++
		as := []Access{on(InOut, Interval(id, 0, 64)), on(In, Interval(id, 64, 128))}
		mu.Unlock()
		var n Node
		for pb.Next() {
			n.ID = 0
			mu.Lock()
			d.Submit(&n, as)
			mu.Unlock()
			d.Complete(&n, func(*Node, bool) {})
		}
	})
}

func BenchmarkOverlap(b *testing.B) {
	box := func(i, j, rows, cols int64) Region {
		r, err := Box(1, 0, []int64{4096, 4096}, []int64{i, j}, []int64{i + rows, j + cols})
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	tile := box(256, 256, 256, 256)
	odd, err := Strided(1, 0, []Dim{{500, 5000}, {100, 1}})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		other Region
	}{
		{"tile", box(256, 512, 256, 256)}, {"same", tile}, {"rows", box(300, 0, 100, 4096)}, {"column", box(0, 300, 4096, 1)}, {"unlike", odd},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				tile.Overlaps(c.other)
			}
		})
	}
}

// BenchmarkSet asks and changes a set that holds every other tile of a matrix of 64 by 64 tiles.
func BenchmarkSet(b *testing.B) {
	const n, size = 64, 64
	tile := func(i, j int64) Region {
		r, err := Box(0, 0, []int64{n * size, n * size}, []int64{i * size, j * size}, []int64{(i + 1) * size, (j + 1) * size})
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	var s Set
	for i := range int64(n) {
		for j := i % 2; j < n; j += 2 {
			s.Add(tile(i, j))
		}
	}
	b.Run("contains", func(b *testing.B) {
		for b.Loop() {
			if !s.Contains(tile(31, 31)) {
				b.Fatal("lost a tile")
			}
		}
	})
	b.Run("misses", func(b *testing.B) {
		for b.Loop() {
			if s.Overlaps(tile(31, 32)) {
				b.Fatal("made up a tile")
			}
		}
	})
	b.Run("remove and add", func(b *testing.B) {
		for b.Loop() {
			s.Remove(tile(31, 31))
			s.Add(tile(31, 31))
		}
	})
}

package gpubench

import (
	"container/heap"
	"testing"

	"github.com/stretchr/testify/require"
)

// A step is a task of the Cholesky factorisation in a model of its schedule.
type step struct {
	kind   byte // 'p'otrf, 't'rsm, 'u'pdate, 'd'iagonal
	before []int
	after  []int // what waits for it
	soon   int   // its priority, as buildFactor gives it
}

// factorSteps are the tasks of a matrix of side x side tiles, in the order of submission.
func factorSteps(side int) []step {
	var list []step
	last := map[[2]int]int{}
	add := func(kind byte, soon int, into [2]int, reads ...[2]int) {
		s, id := step{kind: kind, soon: soon}, len(list)
		for _, tile := range append(reads, into) {
			if w, ok := last[tile]; ok {
				s.before = append(s.before, w)
				list[w].after = append(list[w].after, id)
			}
		}
		last[into] = id
		list = append(list, s)
	}
	next := func(i, c int) int {
		if i == c+1 {
			return 1
		}
		return 0
	}
	for c := range side {
		add('p', 3, [2]int{c, c})
		for i := c + 1; i < side; i++ {
			add('t', 1+next(i, c), [2]int{i, c}, [2]int{c, c})
		}
		for i := c + 1; i < side; i++ {
			for j := c + 1; j < i; j++ {
				add('u', next(j, c), [2]int{i, j}, [2]int{i, c}, [2]int{j, c})
			}
			add('d', 2*next(i, c), [2]int{i, i}, [2]int{i, c})
		}
	}
	return list
}

// A line is a queue of numbers, the least first.
type line []float64

func (l line) Len() int           { return len(l) }
func (l line) Less(i, j int) bool { return l[i] < l[j] }
func (l line) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *line) Push(x any)        { *l = append(*l, x.(float64)) }
func (l *line) Pop() any {
	x := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return x
}

// factorTime is how long the factorisation takes where ready tasks go to the first free stream, in
// the order of submission or the most urgent first, and how long its critical path is. took is what
// a task takes alone; updates share a GPU, the others need a part of it. Nothing is moved.
func factorTime(list []step, took map[byte]float64, gpus, streams int, urgent bool) (all, path float64) {
	wait, ends := make([]int, len(list)), make([]float64, len(list))
	ready := &line{}
	push := func(i int) {
		key := float64(i)
		if urgent {
			key -= float64(list[i].soon * len(list))
		}
		heap.Push(ready, key)
	}
	pop := func() int {
		i := int(heap.Pop(ready).(float64))
		for i < 0 {
			i += len(list)
		}
		return i
	}
	for i, s := range list {
		for _, b := range s.before {
			ends[i] = max(ends[i], ends[b])
		}
		ends[i] += took[s.kind]
		path = max(path, ends[i])
		if wait[i] = len(s.before); wait[i] == 0 {
			push(i)
		}
	}
	free := gpus * streams
	running, over := &line{}, map[float64][]int{}
	for now := 0.0; ; {
		for ; free > 0 && ready.Len() > 0; free-- {
			i := pop()
			d := took[list[i].kind]
			if k := list[i].kind; k == 'u' || k == 'd' {
				d *= float64(streams)
			}
			if len(over[now+d]) == 0 {
				heap.Push(running, now+d)
			}
			over[now+d] = append(over[now+d], i)
		}
		if running.Len() == 0 {
			return now, path
		}
		now = heap.Pop(running).(float64)
		for _, i := range over[now] {
			free++
			for _, a := range list[i].after {
				if wait[a]--; wait[a] == 0 {
					push(a)
				}
			}
		}
		delete(over, now)
	}
}

// TestCholeskyScheduleModel shows what bounds the factorisation on one and two GPUs for times of
// its kernels that fit what was measured (0.18 s on one H200), and that it is never longer with the
// panels first.
func TestCholeskyScheduleModel(t *testing.T) {
	list := factorSteps(16)
	require.Len(t, list, 816)
	for _, c := range []struct{ potrf, trsm float64 }{{4, 2}, {5, 2}, {6, 1.5}, {7, 1}, {7.5, 1}} {
		took := map[byte]float64{'p': c.potrf, 't': c.trsm, 'u': 0.07, 'd': 0.06} // milliseconds
		for gpus := 1; gpus <= 2; gpus++ {
			plain, path := factorTime(list, took, gpus, 4, false)
			first, _ := factorTime(list, took, gpus, 4, true)
			require.LessOrEqual(t, first, plain)
			require.LessOrEqual(t, path, first)
			t.Logf("Potrf %.1f ms, Trsm %.1f ms, %d GPUs: %.0f ms, panels first %.0f ms, critical path %.0f ms", c.potrf, c.trsm, gpus, plain, first, path)
		}
	}
}

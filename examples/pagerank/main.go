// Command pagerank computes the ranks of the nodes of a graph by power iteration, until the ranks
// no longer change.
//
// Source: Sergey Brin, Lawrence Page, The anatomy of a large-scale hypertextual web search engine,
// 1998, section 2.1.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"slices"

	"github.com/gompss/gompss/codegen/kernel/random"
	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/task"
)

const damping = 0.85

func main() {
	nodes := flag.Int("nodes", 100_000, "nodes of the graph")
	edges := flag.Int("edges", 8, "edges a node, in the mean")
	parts := flag.Int("parts", 4, "tasks of one iteration")
	tolerance := flag.Float64("tolerance", 1e-9, "sum of all changes at which the iteration ends")
	devices := flag.String("devices", "", "devices, such as smp:2,sim:2; empty: $GOMPSS_DEVICES, else auto")
	flag.Parse()
	if *nodes < 1 || *edges < 0 || *parts < 1 {
		log.Fatalf("-nodes %d -edges %d -parts %d: want at least 1, 0 and 1", *nodes, *edges, *parts)
	}
	rank, iterations, err := ranks(*devices, synthetic(*nodes, *edges), *parts, *tolerance)
	if err != nil {
		log.Fatal(err)
	}
	order := make([]int, len(rank))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(rank[b], rank[a]) })
	fmt.Printf("%d iterations; the nodes of the highest rank:\n", iterations)
	for _, node := range order[:min(5, len(order))] {
		fmt.Printf("%8d  %.3e\n", node, rank[node])
	}
}

// ranks returns the rank of each node and the number of iterations. Nodes without an edge give
// their rank to none: the sum of all ranks is at most 1.
func ranks(devices string, g Graph, parts int, tolerance float64) (rank []float64, iterations int, err error) {
	rt, err := task.New(task.Options{Devices: devices})
	if err != nil {
		return nil, 0, err
	}
	defer rt.Close()
	n := len(g.Degree)
	rank, next, share := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range rank {
		rank[i] = 1 / float64(n)
	}
	change := make([]float64, parts)
	for change[0] = 1; total(change) > tolerance; iterations++ {
		clear(change)
		if _, err := SubmitShare(rt, rank, g.Degree, share); err != nil {
			return nil, 0, err
		}
		for p := range parts {
			first, last := p*n/parts, (p+1)*n/parts
			if first == last {
				continue
			}
			if _, err := SubmitCollect(rt, g, share, rank, first, last, damping, (1-damping)/float64(n), next, change[p:p+1]); err != nil {
				return nil, 0, err
			}
		}
		if err := rt.WaitOn(context.Background(), task.InOut(change)); err != nil { // the ranks stay where they are
			return nil, 0, err
		}
		rank, next = next, rank
	}
	return rank, iterations, rt.Wait(context.Background())
}

func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// synthetic makes a graph in which few nodes have most of the edges.
func synthetic(nodes, edges int) Graph {
	g := Graph{Start: make([]int32, nodes+1), Degree: make([]int32, nodes)}
	into := make([][]int32, nodes)
	for e := range uint64(nodes * edges) {
		from := int(random.Float64(1, e) * float64(nodes))
		u := random.Float64(2, e)
		to := int(u * u * u * u * float64(nodes))
		into[to] = append(into[to], int32(from))
		g.Degree[from]++
	}
	for i, list := range into {
		g.From = append(g.From, list...)
		g.Start[i+1] = int32(len(g.From))
	}
	return g
}

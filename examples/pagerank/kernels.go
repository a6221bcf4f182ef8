package main

// A Graph has its edges by the node they lead to: those into node i come from
// From[Start[i]:Start[i+1]]. Degree is the number of edges out of a node.
type Graph struct {
	Start  []int32
	From   []int32
	Degree []int32
}

// Share stores the part of its rank that each node gives to each of its successors.
//
//omp:target device(acc, smp)
//omp:task in(rank, degree) out(share)
func Share(rank []float64, degree []int32, share []float64) {
	//omp:teams distribute parallel for
	for i := range share {
		share[i] = 0
		if d := degree[i]; d > 0 {
			share[i] = rank[i] / float64(d)
		}
	}
}

// Collect stores the new ranks of the nodes first and following, and adds the sum of all changes
// to change. The nodes of a graph have from none to very many predecessors.
//
//omp:target device(acc, smp)
//omp:task in(g.Start, g.From, share, rank) out(next[first:last]) inout(change)
func Collect(g Graph, share, rank []float64, first, last int, damping, base float64, next, change []float64) {
	sum := 0.0
	//omp:teams distribute parallel for reduction(+: sum)
	for i := first; i < last; i++ {
		in := 0.0
		for e := g.Start[i]; e < g.Start[i+1]; e++ {
			in += share[g.From[e]]
		}
		next[i] = base + damping*in
		sum += max(next[i]-rank[i], rank[i]-next[i])
	}
	change[0] += sum
}

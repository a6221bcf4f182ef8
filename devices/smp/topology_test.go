package smp

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gompss/gompss/devices"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// madeUp returns the files of a machine: for each node its processors and its distances.
func madeUp(nodes ...[2]string) fs.FS {
	root := fstest.MapFS{"online": &fstest.MapFile{Data: []byte("0-1\n")}, "possible": &fstest.MapFile{Data: []byte("0-7\n")}}
	for i, n := range nodes {
		root[fmt.Sprintf("node%d/cpulist", i)] = &fstest.MapFile{Data: []byte(n[0] + "\n")}
		root[fmt.Sprintf("node%d/distance", i)] = &fstest.MapFile{Data: []byte(n[1] + "\n")}
	}
	return root
}

func TestWorkersStealFromTheirNodeFirst(t *testing.T) {
	// Four sockets in a square: 0 is next to 1 and 2, and far from 3. Node 3 has memory alone.
	machine, err := ReadTopology(madeUp([2]string{"0-3,16-19", "10 20 20 30 40"}, [2]string{"4-7,20-23", "20 10 30 20 40"},
		[2]string{"8-11,24-27", "20 30 10 20 40"}, [2]string{"", "40 40 40 40 10"}, [2]string{"12-15", "30 20 20 40 10"}), nil)
	require.NoError(t, err)
	require.Equal(t, 4, machine.Nodes())
	nodes := machine.workerNodes(14)
	require.Equal(t, []int{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3}, nodes, "half as many where there are half the processors")
	near := machine.near(nodes)
	require.Equal(t, []int32{2, 3, 0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, near[1], "its node, those next to it, the far one")
	require.Equal(t, []int32{12}, near[13][:1])
	require.Equal(t, []int32{3, 0, 1}, near[2][:3], "everyone begins behind itself")
}

// The ids of nodes have gaps where a node has no memory and no processors, and distances have none:
// the second one is that to node 8.
func TestNodesWithGapsBetweenTheirIDs(t *testing.T) {
	root := fstest.MapFS{}
	for id, n := range map[int][2]string{0: {"0-1", "10 40 20 80"}, 8: {"2-3", "40 10 80 20"}, 10: {"4-5", "20 80 10 40"}, 252: {"", "80 20 40 10"}} {
		root[fmt.Sprintf("node%d/cpulist", id)] = &fstest.MapFile{Data: []byte(n[0] + "\n")}
		root[fmt.Sprintf("node%d/distance", id)] = &fstest.MapFile{Data: []byte(n[1] + "\n")}
	}
	machine, err := ReadTopology(root, nil)
	require.NoError(t, err)
	near := machine.near(machine.workerNodes(6))
	require.Equal(t, [][]int32{{1, 4, 5, 2, 3}, {0, 4, 5, 2, 3}, {3, 0, 1, 4, 5}, {2, 0, 1, 4, 5}, {5, 0, 1, 2, 3}, {4, 0, 1, 2, 3}}, near)
}

func TestOnlyProcessorsThatTheProcessHasCount(t *testing.T) {
	machine, err := ReadTopology(madeUp([2]string{"0-3", "10 20"}, [2]string{"4-7", "20 10"}), []int{1, 2, 3})
	require.NoError(t, err)
	require.Equal(t, 1, machine.Nodes())
	require.Equal(t, []int{1, 2, 3}, machine.nodes[0].cpus)
}

func TestAMachineThatDoesNotSay(t *testing.T) {
	machine, err := ReadTopology(fstest.MapFS{}, nil)
	require.NoError(t, err)
	require.Zero(t, machine.Nodes())
	require.Equal(t, [][]int32{{1, 2}, {2, 0}, {0, 1}}, machine.near(machine.workerNodes(3)))
	for _, bad := range []fs.FS{madeUp([2]string{"0-x", "10"}), madeUp([2]string{"3-1", "10"}), madeUp([2]string{"0", "ten"})} {
		_, err = ReadTopology(bad, nil)
		require.ErrorContains(t, err, "smp: topology: node0/")
	}
}

// Every worker has a node, in order, none has more than its share of them, and everyone asks every
// other, near ones first.
func TestTopologiesOfAnyShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var files [][2]string
		n, at := rapid.IntRange(1, 5).Draw(t, "nodes"), 0
		for range n {
			cpus := rapid.IntRange(1, 9).Draw(t, "cpus")
			distances := rapid.SliceOfN(rapid.IntRange(11, 40), n, n).Draw(t, "distances")
			files = append(files, [2]string{fmt.Sprintf("%d-%d", at, at+cpus-1), strings.Trim(fmt.Sprint(distances), "[]")})
			at += cpus
		}
		machine, err := ReadTopology(madeUp(files...), nil)
		require.NoError(t, err)
		workers := rapid.IntRange(1, 40).Draw(t, "workers")
		nodes := machine.workerNodes(workers)
		require.True(t, slices.IsSorted(nodes))
		for k, node := range machine.nodes {
			mine := 0
			for _, h := range nodes {
				if h == k {
					mine++
				}
			}
			require.InDelta(t, float64(workers*len(node.cpus))/float64(at), float64(mine), 1)
		}
		for i, others := range machine.near(nodes) {
			require.True(t, slices.IsSortedFunc(others, func(a, b int32) int {
				return machine.distance(nodes[i], nodes[a]) - machine.distance(nodes[i], nodes[b])
			}))
			all := append(slices.Clone(others), int32(i))
			slices.Sort(all)
			for k := range all {
				require.EqualValues(t, k, all[k])
			}
		}
	})
}

// Workers that are bound run what others do, where the system can bind them.
func TestBoundWorkers(t *testing.T) {
	d, err := open(devices.Config{Kind: devices.SMP, Count: 3, Params: []devices.Param{{Key: "bind", Value: "node"}}})
	require.NoError(t, err)
	q := &queue{}
	w, err := d[0].(*Device).Start(q)
	if err != nil {
		t.Skip(err)
	}
	ran := make(chan int, 10)
	for i := range 10 {
		q.push(func(int) { ran <- i })
		w.Wake(1)
	}
	for range 10 {
		<-ran
	}
	w.Close()
	_, err = open(devices.Config{Kind: devices.SMP, Params: []devices.Param{{Key: "bind", Value: "core"}}})
	require.ErrorContains(t, err, "want node or off")
}

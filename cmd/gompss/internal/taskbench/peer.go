package taskbench

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed testdata/peer.c
var peerSource []byte

// A Peer is a program that runs a Graph with another task runtime. The other runtime derives the
// dependences from the same accesses.
type Peer struct {
	Name    string // of the runtime
	program string
}

// peerCompilers are the compilers whose OpenMP is a peer, and those that link StarPU.
var peerCompilers = []struct {
	runtime, compiler string
	pkg               string // package for pkg-config, whose flags replace -fopenmp
}{{"libgomp", "gcc", ""}, {"libomp", "clang", ""}, {"starpu", "gcc", "starpu-1.3"}}

// BuildPeers compiles the peers into dir. missing lists the peers that cannot be compiled, with the
// reasons.
func BuildPeers(dir string) (peers []Peer, missing []string, err error) {
	source := filepath.Join(dir, "peer.c")
	if err := os.WriteFile(source, peerSource, 0o600); err != nil {
		return nil, nil, fmt.Errorf("bench tasks: %w", err)
	}
	for _, c := range peerCompilers {
		path, err := exec.LookPath(c.compiler)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: no compiler %s", c.runtime, c.compiler))
			continue
		}
		flags := []string{"-fopenmp"}
		if c.pkg != "" {
			out, err := exec.Command("pkg-config", "--cflags", "--libs", c.pkg).Output()
			if err != nil {
				missing = append(missing, fmt.Sprintf("%s: pkg-config %s: %v", c.runtime, c.pkg, err))
				continue
			}
			flags = append([]string{"-DSTARPU"}, strings.Fields(string(out))...)
		}
		p := Peer{c.runtime, filepath.Join(dir, "peer-"+c.runtime)}
		args := append([]string{"-O2", "-o", p.program, source}, flags...)
		if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
			missing = append(missing, fmt.Sprintf("%s: %s %s: %v: %s", c.runtime, path, strings.Join(flags, " "), err, lastLine(out)))
			continue
		}
		peers = append(peers, p)
	}
	return peers, missing, nil
}

// FindPeers returns the peers that were built elsewhere: the programs peer-NAME in dir.
func FindPeers(dir string) ([]Peer, error) {
	list, err := filepath.Glob(filepath.Join(dir, "peer-*"))
	if err == nil && len(list) == 0 {
		err = errors.New("no program peer-NAME there")
	}
	if err != nil {
		return nil, fmt.Errorf("bench tasks: peers in %s: %w", dir, err)
	}
	var peers []Peer
	for _, path := range list {
		peers = append(peers, Peer{strings.TrimPrefix(filepath.Base(path), "peer-"), path})
	}
	return peers, nil
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// run returns the median time of a task of g, in nanoseconds. The peer checks the order of the
// tasks in the same way as Measure.
func (p *Peer) run(g *Graph, o *Options) (float64, error) {
	cmd := exec.Command(p.program)
	var out, diagnostics bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(g.encode(o)), &out, &diagnostics
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("bench tasks: %s: %s: %w: %s", p.Name, g.Pattern, err, lastLine(diagnostics.Bytes()))
	}
	ns, err := strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
	if err != nil {
		return 0, fmt.Errorf("bench tasks: %s: %s: result: %w", p.Name, g.Pattern, err)
	}
	return ns, nil
}

// encode returns g in the format that a peer reads: see testdata/peer.c.
func (g *Graph) encode(o *Options) []byte {
	words := []int32{int32(o.Workers), int32(o.Repetitions), int32(o.Grain), int32(len(g.nodes)), int32(g.cells)}
	flag := map[bool]int32{true: 1}
	for i := range g.nodes {
		n := &g.nodes[i]
		words = append(words, int32(n.count), flag[n.writer], flag[n.own])
		for _, r := range n.reads {
			words = append(words, r.cell, r.version)
		}
		words = append(words, n.writes.cell, n.writes.version)
	}
	out := make([]byte, 0, 4*len(words))
	for _, w := range words {
		out = binary.NativeEndian.AppendUint32(out, uint32(w))
	}
	return out
}

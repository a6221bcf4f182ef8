package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gompss/gompss/trace/probe"
)

// muchGo is the share of the running time of all tasks from which on a kernel that runs as its Go
// function is worth a note.
const muchGo = 0.1

// A noteTaker finds properties of a run that deserve a sentence beside the tables of its Summary.
type noteTaker struct{ run *Run }

// notes states facts that a reader of the summary would have to look for in its tables.
func (n noteTaker) notes(s *Summary) (out []string) {
	if s.Tasks == s.Gone {
		return nil
	}
	out = append(n.failures(s), append(n.refusals(), n.goFunctions(s)...)...)
	var unused, again []string
	for i := range s.Places {
		p := &s.Places[i]
		if p.Tasks == 0 {
			unused = append(unused, p.Name)
		}
		if p.Again > 0 {
			again = append(again, fmt.Sprintf("%v to the %v of %s", p.Again, p.Memory, p.Name))
		}
	}
	if len(again) > 0 {
		out = append(out, "evicted data came again, for want of memory: "+strings.Join(again, ", "))
	}
	if len(unused) > 0 {
		out = append(out, strings.Join(unused, ", ")+" ran no task")
	}
	return out
}

// failures says how many tasks failed, and of the first where and why.
func (n noteTaker) failures(s *Summary) []string {
	first := -1
	for i := range n.run.Len() {
		t := n.run.Row(i)
		if c := t.Class(); c.Err != "" && !c.Skipped && (first < 0 || t.Release() < n.run.Row(first).Release()) {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	t := n.run.Task(first)
	why, _, _ := strings.Cut(strings.TrimSpace(t.Err), "\n")
	return []string{fmt.Sprintf("%d tasks failed, and %d were skipped because of that; the first was task %d: %s", s.Failed, s.Skipped, t.ID, strings.TrimPrefix(why, "task: "))}
}

// refusals says which kernels devices would not run, once for each kernel and kind.
func (n noteTaker) refusals() (out []string) {
	for i := range n.run.Points {
		if p := &n.run.Points[i]; p.Kind == probe.Compile && p.Err != nil {
			why, _, _ := strings.Cut(strings.TrimSpace(p.Err.Error()), "\n")
			kind, _, _ := strings.Cut(p.Device, ":")
			if text := fmt.Sprintf("no %s device runs %s: %s", kind, p.Kernel, why); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// goFunctions says which kernels ran as Go functions on CPU workers for a good part of the time,
// and why.
func (n noteTaker) goFunctions(s *Summary) (out []string) {
	var all time.Duration
	for i := range s.Kernels {
		all += s.Kernels[i].Total
	}
	for _, e := range n.run.Explanations() {
		_, why, ok := strings.Cut(e.Text, probe.CPUCode+"Go function (")
		i := slices.IndexFunc(s.Kernels, func(k KernelUse) bool { return k.Sort == e.Kernel && k.Variant == "go" })
		if !ok || i < 0 || float64(s.Kernels[i].Total) < muchGo*float64(all) {
			continue
		}
		why, _, _ = strings.Cut(why, "\n")
		out = append(out, fmt.Sprintf("%s ran as its Go function on the CPU, %.0f %% of the running time of all tasks: %s", e.Kernel, percent(s.Kernels[i].Total, all), strings.TrimSuffix(why, ")")))
	}
	return out
}

package run

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// An Explanation has the decisions for a kernel, with their reasons.
type Explanation struct{ Kernel, Text string }

// Explanations returns those of the run, by kernel.
func (r *Run) Explanations() []Explanation {
	texts := map[string]string{}
	for i := range r.Points {
		if p := &r.Points[i]; p.Kind == probe.Explain {
			texts[p.Kernel] = p.Label
		}
	}
	var out []Explanation
	for k, text := range texts {
		out = append(out, Explanation{k, text})
	}
	slices.SortFunc(out, func(a, b Explanation) int { return cmp.Compare(a.Kernel, b.Kernel) })
	return out
}

// A LearnedTime is the time that the policy had learned of a kernel on a kind of device, for data
// of Size bytes up to twice that.
type LearnedTime struct {
	Kernel, Kind        string
	Size                deps.Bytes
	Samples             int64
	Middle, Least, Most time.Duration
}

// LearnedTimes returns the times that were learned last, by kernel, kind and size.
func (r *Run) LearnedTimes() []LearnedTime {
	type key struct {
		kernel, kind string
		size         deps.Bytes
	}
	last := map[key]*probe.Point{}
	for i := range r.Points {
		p := &r.Points[i]
		k := key{p.Kernel, p.Device, p.Bytes}
		if p.Kind == probe.Learn && p.Learned != nil && (last[k] == nil || last[k].Time <= p.Time) {
			last[k] = p
		}
	}
	var out []LearnedTime
	for k, p := range last {
		out = append(out, LearnedTime{k.kernel, k.kind, k.size, p.Learned.Samples, p.Learned.Middle, p.Learned.Least, p.Learned.Most})
	}
	slices.SortFunc(out, func(a, b LearnedTime) int {
		return cmp.Or(cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Size, b.Size))
	})
	return out
}

// mostStrategies bounds what strategy says of a kernel: the rest is in its explanation.
const mostStrategies = 4

// strategy returns how the loops of a kernel are mapped to a kind of place, in the words of its
// explanation: for CPU workers what code runs, for others what stands behind each loop.
func strategy(texts []Explanation, kernel, kind string) string {
	i := slices.IndexFunc(texts, func(e Explanation) bool { return e.Kernel == kernel })
	if i < 0 {
		return ""
	}
	var out []string
	for line := range strings.Lines(texts[i].Text) {
		line = strings.TrimSpace(line)
		if code, ok := strings.CutPrefix(line, probe.CPUCode); ok && kind == "smp" {
			return code
		}
		subject, decision, ok := strings.Cut(line, " -> ")
		if !ok || kind == "smp" || !strings.Contains(subject, ": loop ") && !strings.Contains(subject, ": reduction") && !strings.Contains(subject, ": atomics ") {
			continue
		}
		decision, _, _ = strings.Cut(decision, ": ")
		if strings.HasPrefix(decision, "a version without") || slices.Contains(out, decision) {
			continue
		}
		out = append(out, decision)
	}
	return strings.Join(out[:min(len(out), mostStrategies)], "; ")
}

package run

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Write prints a summary for people.
func (s *Summary) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "verdict\t%s\n\t%s\n", s.Verdict.Sentence, s.Verdict.Evidence)
	for _, note := range s.Notes {
		fmt.Fprintf(t, "note\t%s\n", note)
	}
	fmt.Fprintf(t, "elapsed\t%v, critical path %v (%.0f %%)\n", Round(s.Elapsed), Round(s.Critical), percent(s.Critical, s.Elapsed))
	fmt.Fprintf(t, "tasks\t%d, failed %d, skipped %d\n", s.Tasks, s.Failed, s.Skipped)
	fmt.Fprintf(t, "records\t%s\n", s.records())
	for _, a := range s.Absent {
		fmt.Fprintf(t, "not there\t%s\n", a)
	}
	if s.MostBuffers > 0 {
		fmt.Fprintf(t, "buffers\t%d of %v known in the end, %d of %v at most\n", s.Buffers, s.Known, s.MostBuffers, s.MostKnown)
	}
	s.writePlaces(t)
	s.writeKernels(t)
	s.writeLinks(t)
	for _, h := range s.Held {
		fmt.Fprintf(t, "tokens of %s\t%d tasks held %.3g of %d on average\n", h.Kind, h.Tasks, float64(h.Time)/float64(max(1, s.Elapsed)), h.Limit)
	}
	if s.Short > 0 {
		fmt.Fprintf(t, "tokens\t%d tasks waited %v\n", s.Short, Round(s.Waited))
	}
	if s.Compiled > 0 {
		fmt.Fprintf(t, "variants\t%d made in %v, %d from a cache\n", s.Compiled, Round(s.Compile), s.Cached)
	}
	return t.Flush()
}

// records states which records are missing.
func (s *Summary) records() string {
	text := fmt.Sprintf("dropped %d", s.Dropped)
	lost := s.Lost.Sum().Count
	if s.Dropped > 0 {
		copies := int64(0)
		for i := range s.Lost.Copies {
			copies += s.Lost.Copies[i].Copies + s.Lost.Copies[i].Failed
		}
		text += fmt.Sprintf(" (%d tasks, %d copies, %d details, %d others): counts and sums include them, spans of time, medians and the critical path do not",
			lost, copies, s.Lost.Details, s.Lost.Points)
	}
	if s.Gone > 0 {
		text += fmt.Sprintf(", figures below are of the last %d tasks", s.Tasks-s.Gone-lost)
	}
	if s.EdgesGone > 0 {
		text += fmt.Sprintf(", %d edges are not kept: of each task those that decide are", s.EdgesGone)
	}
	if s.Damage != "" {
		text += ", " + s.Damage
	}
	return text
}

func (s *Summary) writePlaces(t io.Writer) {
	fmt.Fprintf(t, "\nplace\tlanes\ttasks\tbusy\ttransfer\toverhead\tidle\tmemory\tevictions\n")
	for i := range s.Places {
		p := &s.Places[i]
		memory := "-"
		if p.Memory > 0 {
			memory = fmt.Sprintf("%v of %v", p.Peak, p.Memory)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\t%s\t%d\n", p.Name, p.Lanes, p.Tasks, 100*p.Share(p.Busy), 100*p.Share(p.Transfer),
			100*p.Share(p.Overhead), 100*p.Share(p.Idle), memory, p.Evictions)
	}
}

func (s *Summary) writeKernels(t io.Writer) {
	if len(s.Kernels) == 0 {
		return
	}
	const most = 30
	fmt.Fprintf(t, "\ntask\tvariant\tkind\tcount\ttotal\tmean\tmedian\tmost\n")
	for i := range s.Kernels {
		if i == most {
			fmt.Fprintf(t, "and %d more sorts\n", len(s.Kernels)-most)
			break
		}
		k := &s.Kernels[i]
		variant := k.Variant
		if variant == "" {
			variant = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%v\t%v\t%v\t%v\n", k.Name(), variant, k.Kind, k.Count, Round(k.Total), Round(k.Mean()), Round(k.Middle), Round(k.Most))
	}
}

func (s *Summary) writeLinks(t io.Writer) {
	if len(s.Links) == 0 {
		return
	}
	fmt.Fprintf(t, "\nlink\tcopies\tbytes\tunder way\trate\n")
	for i := range s.Links {
		l := &s.Links[i]
		fmt.Fprintf(t, "%s -> %s\t%d\t%v\t%v\t%.3g GB/s\n", l.From, l.To, l.Copies, l.Bytes, Round(l.Time), l.Rate()/1e9)
	}
}

package run

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Compare prints the changes from run a to run b.
func Compare(w io.Writer, a, b *Summary) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "\tbefore\tafter\tchange\n")
	row := func(name string, x, y time.Duration) {
		fmt.Fprintf(t, "%s\t%v\t%v\t%s\n", name, Round(x), Round(y), change(float64(x), float64(y)))
	}
	row("elapsed", a.Elapsed, b.Elapsed)
	row("critical path", a.Critical, b.Critical)
	row("overhead", a.Overhead, b.Overhead)
	fmt.Fprintf(t, "tasks\t%d\t%d\t%s\n", a.Tasks, b.Tasks, change(float64(a.Tasks), float64(b.Tasks)))
	fmt.Fprintf(t, "dropped\t%d\t%d\t\n", a.Dropped, b.Dropped)
	for _, p := range both(a.Places, b.Places, func(p *PlaceUse) string { return p.Name }) {
		x, y := find(a.Places, p, func(p *PlaceUse) string { return p.Name }), find(b.Places, p, func(p *PlaceUse) string { return p.Name })
		fmt.Fprintf(t, "%s busy\t%.1f %%\t%.1f %%\t%+.1f\n", p, 100*x.Share(x.Busy), 100*y.Share(y.Busy), 100*(y.Share(y.Busy)-x.Share(x.Busy)))
	}
	for _, k := range both(a.Kernels, b.Kernels, kernelKey) {
		x, y := find(a.Kernels, k, kernelKey), find(b.Kernels, k, kernelKey)
		row(k+" mean", x.Mean(), y.Mean())
		fmt.Fprintf(t, "%s count\t%d\t%d\t%s\n", k, x.Count, y.Count, change(float64(x.Count), float64(y.Count)))
	}
	for _, l := range both(a.Links, b.Links, linkKey) {
		x, y := find(a.Links, l, linkKey), find(b.Links, l, linkKey)
		fmt.Fprintf(t, "%s\t%v\t%v\t%s\n", l, x.Bytes, y.Bytes, change(float64(x.Bytes), float64(y.Bytes)))
	}
	fmt.Fprintf(t, "verdict\t%s\t%s\t\n", a.Verdict.Sentence, b.Verdict.Sentence)
	return t.Flush()
}

func kernelKey(k *KernelUse) string { return k.Sort + " on " + k.Kind }
func linkKey(l *LinkUse) string     { return l.From + " -> " + l.To }

func change(x, y float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*(y-x)/x)
}

// both returns the keys of two lists, in their order, each once.
func both[T any](a, b []T, key func(*T) string) []string {
	var out []string
	seen := map[string]bool{}
	for _, list := range [2][]T{a, b} {
		for i := range list {
			if k := key(&list[i]); !seen[k] {
				seen[k] = true
				out = append(out, k)
			}
		}
	}
	return out
}

// find returns the element of a key, or an empty one.
func find[T any](list []T, k string, key func(*T) string) *T {
	for i := range list {
		if key(&list[i]) == k {
			return &list[i]
		}
	}
	return new(T)
}

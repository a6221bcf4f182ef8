package check

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
)

// meetings determines which memory references of a loop nest may refer to the same element.
// References of one kind give the same answers, so that it compares kinds instead of references.
type meetings struct {
	l       *ir.For
	nest    []*nestLoop
	reaches []analysis.Reach
	kinds   []int // for each reference
	members [][]int
	alike   map[*ir.Var][]int // the kinds of each base
	known   map[[2]int]bool   // the results for pairs of kinds
}

// A meetingKind contains the properties of a reference that meetingDistance uses.
type meetingKind struct {
	indices     int
	rectangular string // for each loop of the nest, whether the bounds of the inner loops are independent of it
}

func newMeetings(l *ir.For, nest []*nestLoop, reaches []analysis.Reach) *meetings {
	m := &meetings{l: l, nest: nest, reaches: reaches, alike: map[*ir.Var][]int{}, known: map[[2]int]bool{}}
	numbers := map[meetingKind]int{}
	for i, indices := range analysis.IndexKinds(reaches) {
		r := &reaches[i]
		kind := meetingKind{indices: indices, rectangular: shapeIn(nest, r)}
		n, ok := numbers[kind]
		if !ok {
			n = len(m.members)
			numbers[kind] = n
			m.members = append(m.members, nil)
			m.alike[r.Base] = append(m.alike[r.Base], n)
		}
		m.kinds = append(m.kinds, n)
		m.members[n] = append(m.members[n], i)
	}
	return m
}

// shapeIn returns a string with one letter for each loop of the nest: whether the loops around r
// are rectangular in it.
func shapeIn(nest []*nestLoop, r *analysis.Reach) string {
	out := make([]byte, len(nest))
	for i, n := range nest {
		out[i] = 'n'
		if rectangular(n, r.Loops) {
			out[i] = 'y'
		}
	}
	return string(out)
}

// first returns the first reference j with may(j) that refers to the same element as reference i,
// which may be i itself in another iteration; -1 if there is none.
func (m *meetings) first(i int, may func(j int) bool) int {
	first := -1
	for _, kind := range m.alike[m.reaches[i].Base] {
		if !m.meet(m.kinds[i], kind) {
			continue
		}
		for _, j := range m.members[kind] {
			if first >= 0 && j > first {
				break
			}
			if j != i && may(j) {
				first = j
				break
			}
		}
	}
	if (first < 0 || i < first) && may(i) {
		if n, _ := meetingLoop(m.l, m.nest, m.reaches[i], m.reaches[i], true); n != nil {
			first = i
		}
	}
	return first
}

// meet reports whether two different references of these kinds refer to the same element.
func (m *meetings) meet(w, r int) bool {
	key := [2]int{w, r}
	meet, ok := m.known[key]
	if !ok {
		n, _ := meetingLoop(m.l, m.nest, m.reaches[m.members[w][0]], m.reaches[m.members[r][0]], false)
		meet = n != nil
		m.known[key] = meet
	}
	return meet
}

package stages

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/ir"
)

// A Frame says where variables that outlive a stage have their words.
type Frame struct {
	Word    map[*ir.Var]int
	Size    int               // words of the block
	Place   map[*ir.Var]int64 // of arrays, in the scratch memory
	Scratch int64             // bytes that these arrays take
	Inner   map[*ir.Var]bool  // that have words for nested stages alone
}

// addNested gives words to what the nested stages use and to their thresholds.
func (f *Frame) addNested(stages []*image.Stage) {
	f.Inner = map[*ir.Var]bool{}
	for _, s := range stages {
		for _, v := range ir.Free(s.Body).List() {
			if f.Word[v] == 0 {
				f.Word[v], f.Inner[v] = f.Size, true
				f.Size++
			}
		}
		s.Threshold = f.Size
		f.Size++
	}
}

// FrameOf gives words to the parameters, and to the variables of the top level that two stages use;
// arrays get memory, too.
func FrameOf(r *prepare.Result, stages []*image.Stage) Frame {
	k := r.Kernel
	f := Frame{Word: map[*ir.Var]int{}, Size: image.WordParams, Place: map[*ir.Var]int64{}}
	put := func(v *ir.Var) {
		f.Word[v] = f.Size
		f.Size++
		if v.Type.Kind == ir.Slice {
			f.Size++
		}
	}
	for _, v := range k.Params {
		put(v)
	}
	for _, v := range k.Params {
		if capacity := r.Caps[v]; capacity != nil {
			put(capacity)
		}
	}
	seen := map[*ir.Var]int{}
	for _, s := range stages {
		for _, v := range ir.Free(s.Body).List() {
			seen[v]++
		}
	}
	for _, s := range stages {
		if s.Loop != nil {
			continue
		}
		for _, st := range s.Body {
			if d, ok := st.(*ir.Decl); ok && seen[d.Var] > 0 {
				if _, ok := f.Word[d.Var]; !ok {
					put(d.Var)
					if n, ok := r.Arrays[d.Var]; ok {
						f.Place[d.Var] = f.Scratch
						f.Scratch += image.RoundUp(n*int64(d.Var.Type.Elem.Size), image.ScratchAlign)
					}
				}
			}
		}
	}
	return f
}

package amd64

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// Registers returns the register file of a machine with AVX-512 (32 vectors, masks) or AVX2. SP and
// BP belong to Go, DX is free where nothing divides.
func Registers(avx512, divides bool, w vcode.Width) mach.RegisterFile {
	f := mach.RegisterFile{Width: w}
	for _, i := range []int{3, 6, 8, 9, 10, 11, 12, 13} {
		f.Free[mach.General] = append(f.Free[mach.General], vcode.R(i))
	}
	if !divides {
		f.Free[mach.General] = append(f.Free[mach.General], vcode.High)
	}
	f.Scratch[mach.General] = []vcode.Reg{vcode.R(14), vcode.R(15), vcode.Acc}
	vectors, keep := 16, 4 // a blend of AVX names four vectors
	if avx512 {
		vectors = 32
	}
	for i := range vectors {
		if i < vectors-keep {
			f.Free[mach.Vector] = append(f.Free[mach.Vector], vcode.V(i))
		} else {
			f.Scratch[mach.Vector] = append(f.Scratch[mach.Vector], vcode.V(i))
		}
	}
	for i := 1; i < 5; i++ {
		f.Free[mach.Mask] = append(f.Free[mach.Mask], vcode.K(i))
	}
	f.Scratch[mach.Mask] = []vcode.Reg{vcode.K(5), vcode.K(6), vcode.K(7)}
	return f
}

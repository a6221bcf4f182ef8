package neon

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// Registers returns the register file of arm64. Four vectors and some general registers are left to
// what encodes the code.
func Registers(divides bool) mach.RegisterFile {
	f := mach.RegisterFile{Width: vcode.W128, Seldom: true}
	for _, i := range []int{3, 6, 8, 9, 10, 11, 12, 13} {
		f.Free[mach.General] = append(f.Free[mach.General], vcode.R(i))
	}
	if !divides {
		f.Free[mach.General] = append(f.Free[mach.General], vcode.High)
	}
	f.Free[mach.General] = append(f.Free[mach.General], vcode.R(4), vcode.R(5))
	f.Scratch[mach.General] = []vcode.Reg{vcode.R(14), vcode.R(15), vcode.Acc}
	for i := range 28 {
		if i < 24 {
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

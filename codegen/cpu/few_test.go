package cpu_test

import "github.com/gompss/gompss/codegen/cpu"

// fewRegisters makes code with one register of each class, so that nearly every value lives in memory.
func fewRegisters(o cpu.Options) cpu.Options {
	o.FewRegisters = true
	return o
}

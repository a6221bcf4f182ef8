package cpu

// FewRegisters makes code with one register of each class, so that nearly every value lives in memory.
func (o Options) FewRegisters() Options {
	o.few = true
	return o
}

package mach

// What tests of what encodes the code use.
var (
	RandomCode = randomCode
	TestLayout = testLayout
)

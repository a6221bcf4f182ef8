package cpu

import "github.com/gompss/gompss/codegen/cpu/image"

// What users of this package get from package image.
type (
	// Options choose the machine.
	Options = image.Options
	// A Code is the vectorised variant of one kernel.
	Code = image.Code
	// A Single says whether parallel loops may run without lanes.
	Single = image.Single
)

// The values of Single.
const (
	SingleAuto   = image.SingleAuto
	SingleNever  = image.SingleNever
	SingleAlways = image.SingleAlways
)

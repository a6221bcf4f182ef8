package prepare

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// A Refusal says why a kernel has no vectorised variant, and where: its Go function runs instead.
type Refusal struct {
	Kernel string
	At     ir.Pos
	Why    string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s: %s has no vectorised variant: %s", r.At, r.Kernel, r.Why)
}

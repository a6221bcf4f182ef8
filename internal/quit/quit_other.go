//go:build !unix

package quit

import "io"

// On does nothing: there is no SIGQUIT.
func On(func(io.Writer)) (stop func()) { return func() {} }

//go:build !unix

package task

// onQuit does nothing: there is no SIGQUIT.
func onQuit(*runtimeRegistry) (stop func()) { return func() {} }

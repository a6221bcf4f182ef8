//go:build unix

package session

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// createFile makes or empties a file. A symbolic link in place of the file is refused: in a
// folder that others write to, it could name any file of this user.
func createFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o666)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) { // EMLINK is FreeBSD's
		return nil, fmt.Errorf("%s: %w", name, errSymlink)
	}
	return f, err
}

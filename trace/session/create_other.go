//go:build !unix

package session

import (
	"fmt"
	"io/fs"
	"os"
)

// createFile makes or empties a file. A symbolic link in place of the file is refused.
func createFile(name string) (*os.File, error) {
	if i, err := os.Lstat(name); err == nil && i.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s: %w", name, errSymlink)
	}
	return os.Create(name)
}

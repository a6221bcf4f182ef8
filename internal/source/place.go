package source

import (
	"io"
	"path/filepath"
	"regexp"
)

// Packages are loaded by the base names of their files. This file puts their folder in front again
// in what people read, so that a position can be opened from where they are, as those of the go
// command can.

// positions are names of files, without a folder, before a line.
var positions = regexp.MustCompile(`(?m)(^|[\s("])([^\s/\\:()"]+\.go:\d)`)

// InPlace puts dir before the positions in text.
func InPlace(dir string, text []byte) []byte {
	if dir == "." {
		return text
	}
	return positions.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := positions.FindSubmatch(found)
		return append(append([]byte{}, parts[1]...), filepath.Join(dir, string(parts[2]))...)
	})
}

// A Placed writer puts a folder before the positions in what is written, each time whole lines.
type Placed struct {
	Dir string
	To  io.Writer
}

func (p *Placed) Write(text []byte) (int, error) {
	if _, err := p.To.Write(InPlace(p.Dir, text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// A placedError is an error about files of a folder.
type placedError struct {
	dir string
	err error
}

func (e *placedError) Error() string { return string(InPlace(e.dir, []byte(e.err.Error()))) }
func (e *placedError) Unwrap() error { return e.err }

// InFolder says where the files of an error are, whose positions have base names.
func InFolder(dir string, err error) error {
	if err == nil {
		return nil
	}
	return &placedError{dir, err}
}

// Package gompss is the root of the module; the API for programs is package task.
//
// See README.md for a first kernel, DESIGN.md for the map of the tree and DIALECT.md for the kernel
// language.
package gompss

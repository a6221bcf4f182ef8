//go:build !linux

package main

// lockLimit knows of no limit.
func lockLimit() (string, bool) { return "", false }

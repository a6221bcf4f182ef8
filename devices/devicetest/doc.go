// Package devicetest is the suite that every plug-in of accelerators passes: what the contract of
// package devices says of memory, copies, events and launches, and what the Machine builds on it.
//
// A plug-in's test calls Run with a function that opens fresh devices, the first in address space
// 0.1, the others behind it. With one device the tests of peers are skipped.
package devicetest

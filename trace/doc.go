// Package trace shows runs: a live page in a running program, the same page for a trace file, and
// reports.
//
// A program that imports it can serve a page with task.Options.Dash or GOMPSS_DASH; Serve serves
// one for a recorder of its own, ServeRun for a run that has finished, and Report writes the page
// with its content as one file that needs no network. What is recorded, and how, is in
// trace/record; what the numbers mean is in trace/run.
//
// A page never slows the run: the collecting goroutine appends to a window of the newest tasks, one
// goroutine makes a snapshot of it while a page is open, as rarely as its own cost demands, and all
// clients get the same bytes. A client that does not read loses snapshots, nothing else.
//
// Invariants: pages are served on loopback addresses, or else only with the token of the URL;
// nothing is loaded from another origin, and no other origin is allowed to read.
package trace

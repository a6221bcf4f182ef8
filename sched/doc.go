// Package sched decides which ready task runs where. It moves no data, starts nothing and reads no
// clock.
//
// Ready items are pushed. The CPU workers and each accelerator are places, and each place pops. A
// Policy, found by name, keeps the ready items and chooses among them. The Scheduler around it
// counts the tokens and the items in flight.
//
// Invariants:
//   - Tokens are all or nothing. An item gets the tokens of its place's kind when it is popped and
//     gives them back at Done. A waiting item holds none, and a kind never gives out more than it
//     has. An item that is granted without the policy takes them only if no item waits for them.
//   - No item starves for tokens. After other items have taken tokens past it Patience times, at
//     any place of the kind, the kind is reserved for it until it has run.
//   - Prepare refuses items that can never run. So every pushed item is popped in the end, if its
//     places pop and their items finish.
//
// The bound on waiting. A round is one pop by each of the P places. Suppose that a policy asks an
// item in each k-th pop of a place where it may run, unless it takes one that precedes it by
// priority and order: k is 1 for all policies but random, where it is oldestEach; it is
// chainFairness at a place whose workers use PopAfter. Then an item with w others before it lets at
// most (w+1)(Patience+1)(kP+1) others take tokens of a kind of its own past it, besides those in
// flight. For the first of all waiting items: within k rounds it is asked, and runs or is refused.
// From then on it is the one that ages, as none precedes it. In each k rounds it is asked again,
// and either it runs, or the tokens taken since leave too few for it, which ages it. After Patience
// such times no other item takes tokens. Between two of them, and before the first, others take
// tokens kP times at most. When it has run, the next item is the first; an item with a reservation
// lets no other take tokens either, and runs when the items in flight have finished.
//
// A Scheduler is not safe for concurrent use, except for the methods of unlocked.go: its owner
// holds the lock. No method blocks or calls the owner back, except Options.Broke.
//
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, section
// 4.1 (resources: tokens out of 100 per kind of device; a task short of tokens on one kind goes to
// another). Differs: tokens are taken together with the choice, not by separate atomic operations,
// so two kinds never hold parts of one request, and waiting is fair.
package sched

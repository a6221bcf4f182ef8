// Package sched decides which ready task runs where. It moves nothing, starts nothing and knows no clock.
//
// Ready items are pushed; whoever serves a place (the CPU workers, or one accelerator) pops. A Policy, found by name,
// keeps the ready items and chooses among them; the Scheduler around it counts the tokens and what is in flight.
//
// Invariants:
//   - tokens are all or nothing: an item gets the tokens of its place's kind when it is popped and gives them back at
//     Done; no item that waits here holds any, and never more are out than the kind has (one that is granted past the
//     policy, because it follows on its device, takes them only when no item waits for them);
//   - nothing starves for tokens: when others have taken tokens past an item Patience times, at whatever place of the kind, the
//     kind is reserved for it, and from then on its tokens go to nobody else until it has run (the bound is below);
//   - what can never be satisfied is refused by Prepare, so every pushed item is popped in the end, if its places
//     are served and their items end.
//
// The bound. A round is one pop by each of the P places. Let a policy ask an item in each k-th pop of a place where it may run, unless
// it takes one that comes before it by priority and order: k is 1 for all policies but random, where it is oldestEach, and chainFairness
// at a place whose workers go on with what they have made ready (PopAfter). Then an item with
// w others before it lets at most (w+1)(Patience+1)(kP+1) others take tokens of a kind of its own past it, and waits, besides, until
// what is in flight is over. For the first of all that wait: in k rounds it is asked, and runs or is refused. From there on it is the one
// that ages, as none comes before it. In each k rounds it is asked again, so either it runs, or what was taken since leaves too few for it,
// which ages it: after Patience such times nobody else takes. Between two of them, and before the first, others take kP times at the most.
// When it has run the next one is the first; one that was reserved before lets nobody take either, and runs when what is in flight is over.
//
// A Scheduler is not safe for concurrent use: its owner has the lock, but for what beside.go has. No method blocks or calls the owner back.
//
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, section 4.1
// (resources tokens out of 100 per device kind; a task short of tokens on one kind goes to another). Differs: tokens are taken under the scheduler's lock with the choice, not by separate
// atomic operations, so two kinds never hold parts of one request, and waiting is fair.
package sched

// Package sched decides which ready task runs where. It moves nothing, starts nothing and knows no clock.
//
// Ready items are pushed; whoever serves a place (the CPU workers, or one accelerator) pops. A Policy, found by name,
// keeps the ready items and chooses among them; the Scheduler around it counts the tokens and what is in flight.
//
// Invariants:
//   - tokens are all or nothing: an item gets the tokens of its place's kind when it is popped and gives them back at
//     Done; no item that waits here holds any, and never more are out than the kind has (one that is granted past the
//     policy, because it follows on its device, takes them only when no item waits for them);
//   - nothing starves for tokens: an item that has been passed over Patience times by others of the kind is
//     reserved, and from then on the kind's tokens go to nobody else until it has run;
//   - what can never be satisfied is refused by Prepare, so every pushed item is popped in the end, if its places
//     are served and their items end.
//
// A Scheduler is not safe for concurrent use: its owner has the lock. No method blocks or calls the owner back.
//
// Source: Ozen, PhD thesis, section 4.1 (resources tokens out of 100 per device kind; a task short of tokens on one
// kind goes to another). Differs: tokens are taken under the scheduler's lock with the choice, not by separate
// atomic operations, so two kinds never hold parts of one request, and waiting is fair.
package sched

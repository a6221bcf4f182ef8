package exec

import "time"

// Generated code lets others have their turn after so many rounds of inner loops: at first, and
// within which bounds their number follows the time that they take, which shall be that of a call.
const (
	pauseRounds = 1 << 11
	leastRounds = 1 << 5
	mostRounds  = 1 << 16
)

// paused learns from the time between two pauses how many rounds there shall be between the next
// ones.
func (p *Program) paused(took time.Duration) {
	n := p.rounds.Load()
	switch {
	case took > 2*callTime && n > leastRounds:
		p.rounds.Store(max(leastRounds, n*int64(callTime)/int64(took)))
	case took < callTime/2 && n < mostRounds:
		p.rounds.Store(2 * n)
	}
}

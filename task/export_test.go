package task

// TokensOf returns what the sequence holds, by place: none at the CPU workers.
func TokensOf(it *KernelIteration) []int {
	out := make([]int, len(it.rt.places))
	for p, place := range it.rt.places {
		for _, t := range it.tokens {
			if t.Kind == place.Kind {
				out[p] = t.Count
			}
		}
	}
	return out
}

// StepsOf returns what each step comes after.
func StepsOf(it *KernelIteration) (after [][]int) {
	for _, s := range it.kernel.device.Steps {
		after = append(after, s.After)
	}
	return after
}

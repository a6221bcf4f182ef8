package codegen_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// What the launch splitter and the league once refused: the Go text, and what it means.
func TestConstructsUnderControlFlow(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       func(x, y []int, n int)
	}{
		{"league reduction under an if", `
s, most := 5, 0
//omp:teams
{
	if n > 3 {
		//omp:distribute parallel for reduction(+: s) reduction(max: most)
		for i := range x {
			s += x[i]
			most = max(most, x[i])
		}
	}
}
y[0], y[1] = s, most`, func(x, y []int, n int) {
			y[0], y[1] = 5, 0
			for _, v := range x {
				if n > 3 {
					y[0] += v
					y[1] = max(y[1], v)
				}
			}
		}},
		{"league reduction in a loop of the teams", `
s := 5
var bins [3]int
//omp:teams
{
	for k := 0; k < n; k++ {
		//omp:distribute parallel for reduction(+: s)
		for i := range x {
			s += x[i] * k
		}
		//omp:distribute parallel for reduction(+: bins)
		for i := range x {
			bins[x[i]%3]++
		}
	}
}
y[0], y[1], y[2] = s, bins[0], bins[2]`, func(x, y []int, n int) {
			y[0], y[1], y[2] = 5, 0, 0
			for k := range n {
				for _, v := range x {
					y[0] += v * k
					y[1] += map[bool]int{true: 1}[v%3 == 0]
					y[2] += map[bool]int{true: 1}[v%3 == 2]
				}
			}
		}},
		{"a variable that a loop outside of the if reduces too", `
s, t := 5, 100
//omp:teams
{
	//omp:distribute parallel for reduction(+: s)
	for i := range x {
		s += x[i]
	}
	if n > 3 {
		//omp:distribute parallel for reduction(+: s) reduction(max: t)
		for i := range x {
			s += x[i] * n
			t = max(t, x[i])
		}
	}
	for k := 0; k < n; k++ {
		//omp:distribute parallel for reduction(+: s)
		for i := range x {
			s -= k * min(i+1, 1)
		}
	}
}
y[0], y[1] = s, t`, func(x, y []int, n int) {
			y[0], y[1] = 5, 100
			for _, v := range x {
				y[0] += v
				if n > 3 {
					y[0] += v * n
					y[1] = max(y[1], v)
				}
				y[0] -= n * (n - 1) / 2
			}
		}},
		{"a variable of the team and one of the kernel", `
s := 5
//omp:teams
for k := 0; k < n; k++ {
	some := 1
	//omp:distribute parallel for reduction(+: s, some)
	for i := range x {
		s += x[i]
		some += k
	}
	//omp:distribute parallel for reduction(max: some) reduction(+: s)
	for i := range x {
		some = max(some, x[i])
		s++
	}
	//omp:distribute parallel for
	for i := 0; i < len(x); i++ {
		//omp:atomic
		y[i] += min(some, 1)
	}
}
y[0] += s`, func(x, y []int, n int) {
			for i := range x {
				y[i] += n
			}
			y[0] += 5
			for range n {
				for _, v := range x {
					y[0] += v + 1
				}
			}
		}},
		{"counter in a loop of the teams", `
//omp:teams
for k := 0; k < n; k++ {
	//omp:distribute parallel for schedule(counter, 3)
	for i := range x {
		//omp:atomic
		y[i] += k + x[i]
	}
}`, rounds},
		{"dynamic in a loop of the teams", `
//omp:teams mode(warp_specialized)
for k := 0; k < n; k++ {
	if n > 2 {
		//omp:distribute parallel for schedule(dynamic)
		for i := range x {
			//omp:atomic
			y[i] += k + x[i]
		}
	} else {
		//omp:distribute parallel for schedule(dynamic, 5)
		for i := range x {
			//omp:atomic
			y[i] += k + x[i]
		}
	}
}`, rounds},
		{"a small team after whole warps", `
//omp:teams distribute
for r := 0; r < 4; r++ {
	s := x[r]
	//omp:parallel num_threads(s + 1)
	{
		//omp:for
		for i := 0; i < 10; i++ {
			y[r*10+i]++
		}
		//omp:for
		for i := 0; i < 10; i++ {
			y[r*10+9-i] += r
		}
	}
	//omp:parallel num_threads(5)
	{
		//omp:for
		for i := 0; i < 10; i++ {
			y[r*10+i] *= 2
		}
		//omp:for
		for i := 0; i < 10; i++ {
			y[r*10+9-i]++
		}
	}
	//omp:parallel for reduction(+: s)
	for i := 0; i < 10; i++ {
		s += y[r*10+i]
	}
	x[r] = s
}`, func(x, y []int, n int) {
			for r := range 4 {
				for i := range 10 {
					y[r*10+i] = (y[r*10+i]+1+r)*2 + 1
					x[r] += y[r*10+i]
				}
			}
		}},
		{"slices across launches", `
z := x
if x[0] > 2 {
	z = y
}
w := &z[1]
//omp:parallel for
for i := range z {
	z[i] += n
}
*w += 7
//omp:parallel for
for i := range z {
	z[i] *= 2
}`, func(x, y []int, n int) {
			z := x
			if x[0] > 2 {
				z = y
			}
			for i := range z {
				z[i] += n
			}
			z[1] += 7
			for i := range z {
				z[i] *= 2
			}
		}},
		{"return in front of constructs", `
for i := 0; i < n; i++ {
	if x[i] == 4 {
		y[0] = i
		return
	}
}
//omp:parallel for
for i := range x {
	y[i] += x[i]
}
if n > 3 {
	if x[0] == 1 {
		return
	}
	//omp:parallel for
	for i := range x {
		y[i]++
	}
}`, func(x, y []int, n int) {
			for i := range n {
				if x[i] == 4 {
					y[0] = i
					return
				}
			}
			for i := range x {
				y[i] += x[i]
			}
			if n > 3 && x[0] != 1 {
				for i := range x {
					y[i]++
				}
			}
		}},
		{"break in front of constructs", `
switch x[0] % 3 {
case 0:
	if n > 3 {
		break
	}
	//omp:parallel for
	for i := range x {
		y[i]++
	}
case 1:
	//omp:parallel for
	for i := range x {
		y[i] += 2
	}
default:
	y[0] = 100
}
y[1]--`, func(x, y []int, n int) {
			switch x[0] % 3 {
			case 0:
				if n <= 3 {
					for i := range y {
						y[i]++
					}
				}
			case 1:
				for i := range y {
					y[i] += 2
				}
			default:
				y[0] = 100
			}
			y[1]--
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true}} {
				l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x, y)\nfunc K(x, y []int, n int) {"+c.body+"\n}", opt)
				require.NoError(t, err)
				program, err := simt.New(l.Program)
				require.NoError(t, err)
				for n := range 6 {
					for k, s := range shapes {
						args := func() (x, y []int) {
							for i := range 40 {
								x, y = append(x, (i*7+n+k)%9), append(y, i)
							}
							return x, y
						}
						x, y := args()
						c.want(x, y, n)
						gotX, gotY := args()
						cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(k), Races: true, Steps: 10_000_000}
						require.NoError(t, runDevice(program, []any{gotX, gotY, n}, cfg), "%v\n%s", s, l.Program)
						require.Equal(t, fmt.Sprint(x, y), fmt.Sprint(gotX, gotY), "n %d, %v\n%s", n, s, l.Program)
					}
				}
			}
		})
	}
}

func rounds(x, y []int, n int) {
	for k := range n {
		for i := range x {
			y[i] += k + x[i]
		}
	}
}

// A clause without a meaning on the device says so in explain, and changes nothing.
func TestClausesWithoutAMeaningAreAnnounced(t *testing.T) {
	for _, c := range []struct{ directive, want string }{
		{"parallel for num_threads(64) schedule(guided)", "loop i -> schedule(auto): schedule(guided) has no meaning here"},
		{"parallel for num_threads(64) schedule(dynamic, 4)", "loop i -> schedule(auto): schedule(dynamic) has no meaning here"},
		{"teams distribute parallel for dist_schedule(static, 8) schedule(counter)", "schedule(counter) has no meaning here: the threads of one team"},
		{"teams distribute parallel for mode(control_loop)", "mode(control_loop) -> needs nothing"},
	} {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int) {\n//omp:"+c.directive+
			"\nfor i := range x {\nx[i]++\n}\n}", codegen.LowerOptions{})
		require.NoError(t, err)
		require.Contains(t, l.Explain(), c.want)
	}
}

// The strategies of nested parallelism that are to come are refused by name; the device IR of the others is there.
func TestStrategiesAreRefusedByName(t *testing.T) {
	for _, s := range []string{"auto", "inline", "eager", "cta", "warp", "host", "cpu", "cross"} {
		_, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int, n int) {\n"+
			"//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\n//omp:parallel for nested("+s+
			")\nfor j := 0; j < n; j++ {\nx[i*n+j]++\n}\n}\n}", codegen.LowerOptions{})
		if s != "cross" {
			require.NoError(t, err, s)
			continue
		}
		require.ErrorContains(t, err, "nested("+s+")")
		require.ErrorContains(t, err, "k.go:9:1")
	}
}

// What the teams' parts of a reduction cannot mean before the teams end is refused, where it stands.
func TestLeagueReductionsThatCannotBe(t *testing.T) {
	const loop = "//omp:distribute parallel for reduction(+: s)\nfor i := range x {\ns += x[i]\n}\n"
	for _, c := range []struct{ name, body, want string }{
		{"read in the loop", "for k := 0; k < n; k++ {\n" + loop + "//omp:distribute parallel for\nfor i := range x {\nx[i] += s\n}\n}\n",
			"k.go:10:44: reduction(+: s): the loop is under an if or in a loop of the teams, so that the teams' parts meet when they end, " +
				"and k.go:16:1 uses s before: no team can wait for the others; end the teams before it is used"},
		{"written behind it", "if n > 1 {\n" + loop + "}\ns = 3\n", "uses s before: no team can wait for the others"},
		{"another operator", "if n > 1 {\n" + loop + "//omp:distribute parallel for reduction(*: s)\nfor i := range x {\ns *= x[i]\n}\n}\n",
			"k.go:14:44: reduction(*: s): it is combined by + too, at k.go:10:44"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int, n int) {\ns := 5\n//omp:teams\n{\n"+c.body+
				"}\nx[0] = s\n}", codegen.LowerOptions{})
			require.ErrorContains(t, err, c.want)
		})
	}
}

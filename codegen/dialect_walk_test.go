package codegen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// These tests show sentences of DIALECT.md that nothing else shows.

// Section 1: writing a firstprivate copy is allowed; the outer variable never changes.
func TestFirstprivateLeavesTheOuterVariable(t *testing.T) {
	const body = "for i := 0; i < 7; i++ {\nf += int64(i)\na[1] = f\nif a[1] > 0 && i < 3 {\nx[i+2] = a[0]\n}\n}\n"
	for _, form := range []string{
		"//omp:teams distribute parallel for firstprivate(f, a)\n" + body,
		"//omp:teams distribute firstprivate(f, a)\n" + body,
		"//omp:teams firstprivate(f, a) num_teams(1) MODE\n{\nf += 5\na[1] = f\n//omp:parallel for\nfor i := 0; i < 3; i++ {\nx[i+2] = a[0] + f - f\n}\n}\n",
		"//omp:parallel for firstprivate(f, a)\n" + body,
		"//omp:parallel for firstprivate(f, a) num_threads(3)\n" + body,
		"//omp:parallel for firstprivate(f, a) if(len(x) > 100)\n" + body,
		"//omp:parallel firstprivate(f, a)\n{\nf += 5\na[1] = f\n//omp:for\nfor i := 0; i < 3; i++ {\nx[i+2] = a[0] + f - f\n}\n}\n",
		"//omp:parallel firstprivate(f, a) num_threads(1)\n{\nf += 5\na[1] = f\n//omp:for\nfor i := 0; i < 3; i++ {\nx[i+2] = a[0] + f - f\n}\n}\n",
		"//omp:parallel firstprivate(f, a) if(len(x) > 100)\n{\nf += 5\na[1] = f\n//omp:for\nfor i := 0; i < 3; i++ {\nx[i+2] = a[0] + f - f\n}\n}\n",
		"//omp:parallel num_threads(4)\n{\n//omp:for firstprivate(f, a)\n" + body + "}\n",
	} {
		runEverywhere(t, "f, a := int64(1), [2]int64{50, 60}\n"+form+"x[0], x[1] = f, a[1]", []int64{1, 60, 50, 50, 50, 5})
	}
	for _, inner := range []string{
		"//omp:parallel for firstprivate(f)\nfor i := 0; i < 3; i++ {\nf += int64(i)\n}\n",
		"//omp:parallel firstprivate(f)\n{\nf++\n}\n",
		"//omp:parallel if(len(x) > 100)\n{\n//omp:for firstprivate(f)\nfor i := 0; i < 3; i++ {\nf += int64(i)\n}\n}\n",
		"//omp:parallel for private(f)\nfor i := 0; i < 3; i++ {\nf = int64(i)\n}\n",
		"//omp:parallel private(f)\n{\nf = 7\n}\n",
		"//omp:simd private(f)\nfor i := 0; i < 3; i++ {\nf = int64(i)\n}\n",
	} {
		runEverywhere(t, "//omp:teams distribute parallel for\nfor k := 0; k < 4; k++ {\nf := int64(k) * 10\n"+inner+"x[k] = f\n}", []int64{0, 10, 20, 30, 4})
		runEverywhere(t, "//omp:teams num_teams(1) MODE\n{\nf := int64(8)\n"+inner+"x[0] = f\n}", []int64{8, 1})
	}
}

// Section 3: minloc keeps the smallest index among equals, maxloc too, and what was there before stays on a tie.
func TestLocationsAmongEquals(t *testing.T) {
	runEverywhere(t, `
	least, at := int64(100), -1
	most, top := int64(5), -1
	//omp:teams distribute parallel for reduction(minloc: least, at) reduction(maxloc: most, top) MODE
	for i := 19; i >= 0; i-- {
		if v := x[i] % 4; v < least {
			least, at = v, i
		}
		if x[i]%6 > most {
			most, top = x[i]%6, i
		}
	}
	x[0], x[1], x[2], x[3] = least, int64(at), most, int64(top)`, []int64{0, 0, 5, -1, 4})
}

// Section 3: atomics on every type, in every form.
func TestAtomicTypes(t *testing.T) {
	for _, typ := range []string{"int8", "int16", "int32", "int64", "int", "uint8", "uint16", "uint32", "uint64", "uint", "float32", "float64"} {
		text := strings.ReplaceAll(`package k

//omp:target device(acc)
//omp:task inout(c, seen) in(x)
func K(x []T, c []T, seen []int32) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		c[0] += x[i]
		//omp:atomic
		c[1]++
		//omp:atomic update
		c[2] = max(c[2], x[i])
		//omp:atomic update
		c[3] = min(c[3], x[i])
		//omp:atomic write
		c[4] = 7
		var old, now, was T
		//omp:atomic capture
		{
			old = c[5]
			c[5] += 1
		}
		//omp:atomic compare capture
		{
			was = c[6]
			if c[6] == 0 {
				c[6] = 9
			}
		}
		//omp:atomic read
		now = c[7]
		if was == 0 {
			//omp:atomic
			seen[0]++
		}
		if now == 3 && old >= 0 && old < 50 {
			//omp:atomic
			seen[1] += int32(old)
		}
	}
}
`, "T", typ)
		l, err := lowerText(t, text[strings.Index(text, "//omp"):], codegen.LowerOptions{})
		require.NoError(t, err, typ)
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		for _, s := range shapes {
			got, err := runAtomics(program, typ, simt.Config{Teams: s.teams, Threads: s.threads, Races: true})
			require.NoError(t, err, typ)
			require.Equal(t, "[75 50 2 0 7 50 9 3] [1 1225]", got, typ)
		}
	}
	l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(c)\nfunc K(c []bool) {\n//omp:teams distribute parallel for\nfor i := 0; i < 9; i++ {\n"+
		"//omp:atomic write\nc[0] = true\nvar b bool\n//omp:atomic read\nb = c[1]\nif b {\n//omp:atomic write\nc[2] = true\n}\n}\n}\n", codegen.LowerOptions{})
	require.NoError(t, err)
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	c := []bool{false, true, false}
	require.NoError(t, runDevice(program, []any{c}, simt.Config{Teams: 3, Threads: 7, Races: true}))
	require.Equal(t, []bool{true, true, true}, c)
}

func runAtomics(p *simt.Program, typ string, cfg simt.Config) (string, error) {
	switch typ {
	case "int8":
		return atomicsOf[int8](p, cfg)
	case "int16":
		return atomicsOf[int16](p, cfg)
	case "int32":
		return atomicsOf[int32](p, cfg)
	case "int64":
		return atomicsOf[int64](p, cfg)
	case "int":
		return atomicsOf[int](p, cfg)
	case "uint8":
		return atomicsOf[uint8](p, cfg)
	case "uint16":
		return atomicsOf[uint16](p, cfg)
	case "uint32":
		return atomicsOf[uint32](p, cfg)
	case "uint64":
		return atomicsOf[uint64](p, cfg)
	case "uint":
		return atomicsOf[uint](p, cfg)
	case "float32":
		return atomicsOf[float32](p, cfg)
	}
	return atomicsOf[float64](p, cfg)
}

func atomicsOf[T int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | uint | float32 | float64](p *simt.Program, cfg simt.Config) (string, error) {
	x, c, seen := make([]T, 50), []T{25, 0, 0, 100, 0, 0, 0, 3}, make([]int32, 2)
	for i := range x {
		x[i] = T(i % 3)
	}
	x[49] = 2 // the sum is 50
	err := runDevice(p, []any{x, c, seen}, cfg)
	return fmt.Sprint(c, seen), err
}

// Section 5: a check that fails touches nothing else, and with check(none) there is none.
func TestCheckNone(t *testing.T) {
	const body = "(x []int64) {\n//omp:teams distribute parallel for\nfor i := 0; i < 4; i++ {\nx[x[i]] += 100\n}\n}\n"
	for _, c := range []struct {
		check string
		sites bool
	}{{"", true}, {"check(bounds)", true}, {"check(none)", false}} {
		l, err := lowerText(t, "//omp:target device(acc) "+c.check+"\n//omp:task inout(x)\nfunc K"+body, codegen.LowerOptions{})
		require.NoError(t, err)
		require.Equal(t, c.sites, strings.Contains(l.Program.String(), "?]"), "%q\n%s", c.check, l.Program)
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		x := []int64{4, 5, 6, 700, 0, 0, 0, 0}
		err = runDevice(program, []any{x}, simt.Config{Teams: 2, Threads: 3})
		require.Error(t, err) // the interpreter leaves no memory of others to touch
		if c.sites {
			require.ErrorContains(t, err, "x: index 700 out of range: length 8")
		}
		require.Equal(t, int64(0), x[7])
	}
}

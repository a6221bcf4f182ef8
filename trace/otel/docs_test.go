package otel

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// A lister is a meter that notes names and units.
type lister struct {
	noop.Meter
	units map[string]string
}

func (l *lister) Int64Counter(name string, o ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	l.units[name] = metric.NewInt64CounterConfig(o...).Unit()
	return noop.Int64Counter{}, nil
}

func (l *lister) Float64Counter(name string, o ...metric.Float64CounterOption) (metric.Float64Counter, error) {
	l.units[name] = metric.NewFloat64CounterConfig(o...).Unit()
	return noop.Float64Counter{}, nil
}

func (l *lister) Int64UpDownCounter(name string, o ...metric.Int64UpDownCounterOption) (metric.Int64UpDownCounter, error) {
	l.units[name] = metric.NewInt64UpDownCounterConfig(o...).Unit()
	return noop.Int64UpDownCounter{}, nil
}

func (l *lister) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	l.units[name] = metric.NewFloat64HistogramConfig(o...).Unit()
	return noop.Float64Histogram{}, nil
}

func (l *lister) Int64ObservableUpDownCounter(name string, o ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	l.units[name] = metric.NewInt64ObservableUpDownCounterConfig(o...).Unit()
	return noop.Int64ObservableUpDownCounter{}, nil
}

// The table of docs/reference/metrics.md names every instrument, with its unit, and no other.
func TestTheInstrumentsAreDocumented(t *testing.T) {
	l := &lister{units: map[string]string{}}
	var m meters
	require.NoError(t, m.open(l))
	text, err := os.ReadFile("../../docs/reference/metrics.md")
	require.NoError(t, err)
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(gompss\\.[a-z_.]+)` \\| [^|]+ \\| `([^`]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = row[2]
	}
	require.Equal(t, l.units, documented)
	for _, name := range append([]string{"gompss.run", "gompss.compile"}, slices.Collect(maps.Values(phases))...) {
		require.Contains(t, string(text), fmt.Sprintf("`%s`", name))
	}
}

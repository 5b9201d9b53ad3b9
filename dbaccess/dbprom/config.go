package dbprom

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/twinpath/twinpath/dbaccess"
)

// Defaults of Config.
const (
	DefaultNamespace  = "twinpath"
	DefaultMaxQueries = 100
)

// DefaultBuckets returns the upper bounds of the histogram's buckets in seconds,
// from 0.5 ms to 10 s.
func DefaultBuckets() []float64 {
	return []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10}
}

// Config configures a [Collector].
type Config struct {
	// Namespace is what the names of all metrics begin with. Defaults to
	// DefaultNamespace.
	Namespace string
	// Buckets are the upper bounds of the histogram's buckets in seconds, in
	// increasing order. Defaults to DefaultBuckets.
	Buckets []float64
	// MaxQueries bounds the values of the label query; calls of further queries
	// are counted as "other". Defaults to DefaultMaxQueries; -1 counts them all as
	// "other".
	MaxQueries int
	// Pools are the pools to report by the value of the label pool. Optional.
	Pools map[string]dbaccess.PoolReporter
}

// WithDefaults returns the config with every default filled in.
func (c Config) WithDefaults() Config {
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Buckets == nil {
		c.Buckets = DefaultBuckets()
	}
	switch c.MaxQueries {
	case 0:
		c.MaxQueries = DefaultMaxQueries
	case -1:
		c.MaxQueries = 0
	}
	return c
}

// namespaceForm is that of Prometheus' metric names, without the colon that is
// kept for rules.
var namespaceForm = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// validate tells all that is wrong with a config whose defaults are not yet
// filled in.
func (c Config) validate() error {
	var errs []error
	if c.Namespace != "" && !namespaceForm.MatchString(c.Namespace) {
		errs = append(errs, errors.New("dbprom: Config.Namespace must be letters, digits and _, and not begin with a digit"))
	}
	if c.Buckets != nil && len(c.Buckets) == 0 || !increases(c.Buckets) {
		errs = append(errs, errors.New("dbprom: Config.Buckets must be numbers in increasing order, or nil for the default"))
	}
	if c.MaxQueries < -1 {
		errs = append(errs, errors.New("dbprom: Config.MaxQueries must be positive, 0 for the default or -1 for none"))
	}
	for name, p := range c.Pools {
		if p == nil {
			errs = append(errs, fmt.Errorf("dbprom: Config.Pools[%q] is nil", name))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

func increases(b []float64) bool {
	for i, v := range b {
		if math.IsNaN(v) || i > 0 && v <= b[i-1] {
			return false
		}
	}
	return true
}

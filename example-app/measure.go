package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/twinpath/twinpath/example-app/internal/measure"
)

const measureUsage = `Usage: example-app measure [flags] [ADDRESS...]

Asks probes in rounds, each mode once a round and in random order, and says where the time goes, how sure
that is, and which mode is faster. Without an address it starts the demo, measures it and stops it.

  --url URL               app to measure: its probes are at URL/latency/{mode}, and below /api/debug
                          when URL has no path
  ADDRESS                 or probes to compare, as URL or NAME=URL
  --modes A,B             modes to compare (default ` + defaultModes + `)
  --shape SHAPE           burst (default): round after round; spaced: a pause before each round;
                          rate: rounds at fixed times; both: burst, then spaced
  --rounds N              rounds that count (default 100, and 10 for spaced)
  --gap DURATION          spaced: the pause, longer than the idle limits in question (default 11s)
  --rps N                 rate: rounds a second (default 10)
  --concurrency N         rounds at once (default 1, and 8 for rate)
  --warmup N              times that rounds run before and don't count, 0 for none (default 3, and 1 for spaced)
  --one-by-one            ask the modes of a round one after the other instead of all at once
  --baseline MODE         what the others are compared with (default rest)
  --seed N                decides the order (default: another one each time)
  --timeout DURATION      for each request (default 15s)
  --json                  print the report as JSON: see go doc ./example-app/internal/measure
  --csv FILE, --svg FILE  write all samples, or a chart of them

When it starts the demo:
  --rtt DURATION          add this to every round trip, such as 5ms (default 0)
  --naive-idle DURATION   idle limit of the mode direct-naive-pool (default 10s)

Environment: MEASURE_AUTHORIZATION is sent as Authorization header. For the demo see example-app help.

Ctrl-C ends it with a report of what there is.
Exit status: 0 when it has measured, with a verdict or without; 1 when nothing could be measured; 2 for a
mistake in the command line; 130 after Ctrl-C.
`

const defaultModes = "rest,direct,direct-per-request,direct-naive-pool"

// errInterrupted means that a measurement ended before its time.
var errInterrupted = errors.New("interrupted: the report has what was measured until then")

// exitInterrupted is what shells have for SIGINT.
const exitInterrupted = 130

// measure runs one measurement, or two, and prints them.
func (m *Main) measure(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	getenv := m.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	f, err := parseMeasure(args, getenv("MEASURE_AUTHORIZATION"))
	if errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(stdout, measureUsage)
		return err
	}
	if err != nil {
		return err
	}
	out, err := f.openFiles()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()

	if f.demo {
		stop, err := m.demoFor(ctx, f, getenv, stderr)
		if err != nil {
			if ctx.Err() != nil {
				return errInterrupted
			}
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	var results []*measure.Result
	for _, cfg := range f.configs() {
		cfg.Progress = stderr
		res, err := measure.Run(ctx, cfg)
		if err != nil {
			if ctx.Err() != nil {
				break // before anything of this shape was measured
			}
			return err
		}
		results = append(results, res)
		if res.Interrupted {
			break
		}
	}
	if len(results) > 0 {
		if err := errors.Join(f.print(stdout, results), out.write(results)); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// print writes the report.
func (f *measureFlags) print(w io.Writer, results []*measure.Result) error {
	reports := make([]*measure.Report, 2)
	for i, r := range results {
		reports[i] = r.Report()
	}
	var report interface{ WriteText(io.Writer) error } = reports[0]
	if f.both {
		report = measure.NewBoth(reports[0], reports[1])
	}
	if !f.json {
		return report.WriteText(w)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(report)
}

// outputs are the files that measure was told to write. They are opened before it begins, so that an
// hour's samples aren't lost for a wrong path.
type outputs struct{ csv, svg *os.File }

func (f *measureFlags) openFiles() (*outputs, error) {
	o := &outputs{}
	for _, file := range []struct {
		flag, path string
		to         **os.File
	}{{"--csv", f.csv, &o.csv}, {"--svg", f.svg, &o.svg}} {
		if file.path == "" {
			continue
		}
		var err error
		if *file.to, err = os.OpenFile(file.path, os.O_WRONLY|os.O_CREATE, 0o644); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", file.flag, err), o.close())
		}
	}
	return o, nil
}

func (o *outputs) write(results []*measure.Result) error {
	var errs []error
	if o.csv != nil {
		errs = append(errs, o.csv.Truncate(0), measure.WriteCSV(o.csv, results...))
	}
	if o.svg != nil {
		errs = append(errs, o.svg.Truncate(0), measure.WriteSVG(o.svg, results...))
	}
	return errors.Join(errs...)
}

func (o *outputs) close() error {
	var errs []error
	for _, f := range []*os.File{o.csv, o.svg} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

package measure

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"
)

// csvHead names the columns of the samples' file. Times are in milliseconds.
var csvHead = [...]string{
	"shape", "round", "warmup", "position", "mode", "started", "status", "error",
	"server_ms", "client_ms", "corrected_ms", "delay_ms", "connect_ms", "reconnected", "cold", "new_connections",
	"idle_ms", "process_age_ms", "client_create_ms", "client_close_ms",
	"app_ms", "pool_ms", "network_ms", "postgrest_ms", "database_ms", "handshakes_ms",
}

// WriteCSV writes all samples of the results, one a line. Of one that failed the app's times are empty.
func WriteCSV(w io.Writer, results ...*Result) error {
	out := csv.NewWriter(w)
	_ = out.Write(csvHead[:]) // Flush tells
	f := func(v float64) string { return strconv.FormatFloat(micro(v), 'f', -1, 64) }
	for _, r := range results {
		for i := range r.Samples {
			s := &r.Samples[i]
			row := make([]string, 0, len(csvHead))
			row = append(row, string(r.Config.Shape), strconv.Itoa(s.Round), strconv.FormatBool(s.WarmUp), strconv.Itoa(s.Position), s.Mode,
				s.Start.UTC().Format(time.RFC3339Nano), strconv.Itoa(s.Status))
			if s.OK() {
				idle := ""
				if s.Idle != nil {
					idle = f(*s.Idle)
				}
				l := layersOf(s)
				row = append(row, "", f(s.Server), f(ms(s.Client)), f(ms(s.Corrected())), f(ms(s.Delay)), f(ms(s.Connect)), strconv.FormatBool(s.Reconnected),
					strconv.FormatBool(s.Cold), strconv.Itoa(s.NewConnections), idle, f(s.ProcessAge), f(s.ClientCreate), f(s.ClientClose),
					f(l.App), f(l.Pool), f(l.Network), f(l.PostgREST), f(l.Database), f(s.Handshakes))
			} else {
				row = append(row, string(s.Err.Kind), "", f(ms(s.Client)), f(ms(s.Corrected())), f(ms(s.Delay)), f(ms(s.Connect)), strconv.FormatBool(s.Reconnected))
				row = append(row, make([]string, len(csvHead)-len(row))...)
			}
			_ = out.Write(row)
		}
	}
	out.Flush()
	return out.Error()
}

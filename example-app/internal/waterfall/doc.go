// Package waterfall keeps the last Sentry transactions of this process and lays them out for
// drawing, so that traces can be looked at without a Sentry account.
//
//	rec := waterfall.NewRecorder(200)
//	sentry.ClientOptions{…, BeforeSendTransaction: rec.BeforeSend}
//	for _, t := range rec.Traces() { … t.Spans … }
//
// What it keeps is read back from the JSON that goes to Sentry: what isn't in a drawing isn't in
// Sentry either.
package waterfall

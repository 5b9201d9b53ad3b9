// Package browser holds a test that looks at the demo as a visitor does, in a headless Chromium. It
// is a module of its own so that the driver stays out of twinpath's go.mod.
//
//	cd internal/browser && go test ./...
//
// The test builds and starts the demo itself. CHROMIUM names the browser's program where it is not
// on PATH as chromium, chromium-browser or google-chrome. ARTIFACTS names a directory for
// screenshots; without it there are none.
package browser

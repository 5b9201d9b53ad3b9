// Package browser holds tests that look at the demo as a visitor does, in a headless Chromium, and at
// its traces in Spotlight. It is a module of its own so that the driver stays out of twinpath's go.mod.
//
//	cd internal/browser && go test ./...
//
// The tests build and start the demo themselves, and Spotlight, which .ci/deps test installs. CHROMIUM names the browser's program where it is not
// on PATH as chromium, chromium-browser or google-chrome. ARTIFACTS names a directory for
// screenshots; without it there are none.
package browser

package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// parentPoll is how often a program that go run started looks for it.
const parentPoll = 500 * time.Millisecond

// stopWithGoRun returns a context that also ends when the go command that runs this program does:
// whoever ends "go run ./example-app" by its process id ends the go command alone, which passes no
// signal on. Run in any other way, the program doesn't care for its parent.
func stopWithGoRun(ctx context.Context) context.Context {
	parent := os.Getppid()
	exe, err := os.Executable()
	if err != nil || !builtByGoRun(exe) || parent <= 1 {
		return ctx
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		tick := time.NewTicker(parentPoll)
		defer tick.Stop()
		for os.Getppid() == parent {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return ctx
}

// builtByGoRun says whether a program is where go run has those that it runs: …/go-build123/b001/exe,
// or the build cache, in a directory named by a hash.
func builtByGoRun(program string) bool {
	above, dir := filepath.Split(filepath.Dir(program))
	return dir == "exe" && strings.Contains(above, string(filepath.Separator)+"go-build") || cacheDir.MatchString(dir)
}

var cacheDir = regexp.MustCompile(`^[0-9a-f]{64}-d$`)

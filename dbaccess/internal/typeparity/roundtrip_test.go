package typeparity_test

import (
	"fmt"
	"slices"
	"testing"
)

// allCases are all that the page is written from, and more.
func allCases() []typeCase {
	return slices.Concat(numberCases, textCases, timeCases, jsonCases, arrayCases, rangeCases, otherCases)
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	p := open(t)
	for i, c := range allCases() {
		t.Run(fmt.Sprintf("%s/%d %s", c.column, i, max(c.from, c.into)), func(t *testing.T) {
			for _, run := range c.runs {
				run(t, p, c)
			}
		})
	}
}

package catalog

import (
	"slices"
	"strings"
)

const (
	nameSimilarity  = 0.75 // for a table's or function's name
	looseSimilarity = 0.33 // for arguments and for tables that are related anyway

	// Beyond these no suggestion is looked for: the name is the caller's, and the
	// cost is the product of its length and that of all names.
	maxSimilarNames  = 500
	maxSimilarLength = 128
)

// nearest returns the name most similar to the given one, the first in order among
// equals, and how similar it is; false if none is as similar as least. It sorts
// names.
func nearest(names []string, name string, least float64) (best string, score float64, ok bool) {
	if len(names) > maxSimilarNames || len(name) > maxSimilarLength {
		return "", 0, false
	}
	slices.Sort(names)
	wanted := []rune(strings.ToLower(name))
	for _, n := range names {
		if s := similarity([]rune(strings.ToLower(n)), wanted); s > score {
			best, score = n, s
		}
	}
	return best, score, score >= least
}

// similarity is 1 for equal strings and 0 for strings that share no position, by
// the number of insertions, deletions and substitutions between them.
func similarity(a, b []rune) float64 {
	longest := max(len(a), len(b))
	if longest == 0 {
		return 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := 1
			if x == y {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return 1 - float64(row[len(b)])/float64(longest)
}

package compile

import (
	"net/http"
	"slices"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// isPut says whether an insert has conditions, which makes it PostgREST's PUT:
// one row, merged by its primary key, which the conditions give once more.
func isPut(s *query.Spec) bool { return s.Op == query.OpInsert && len(s.Where) > 0 }

// checkPut refuses conditions other than one eq for each column of the primary
// key.
func checkPut(s *query.Spec, t *catalog.Table) error {
	found := make([]string, 0, len(s.Where))
	for _, e := range s.Where {
		name, ok := putColumn(e)
		if !ok {
			return errPutFilters()
		}
		found = append(found, name)
	}
	slices.Sort(found)
	key := slices.Sorted(slices.Values(t.PrimaryKey))
	if !slices.Equal(slices.Compact(found), key) {
		return errPutFilters()
	}
	return nil
}

// putColumn is the column that a condition of a PUT compares with eq.
func putColumn(e query.Expr) (string, bool) {
	c, ok := e.(query.Compare)
	if !ok || c.Op != query.OpEq || c.Quantifier != query.One || len(c.Column.Steps) > 0 {
		return "", false
	}
	return c.Column.Column, true
}

func errPutFilters() error {
	return refuse(http.StatusMethodNotAllowed, codePutFilters,
		"Filters must include all and only primary key columns with 'eq' operators")
}

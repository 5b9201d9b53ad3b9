package compile

import "github.com/twinpath/twinpath/dbaccess/query"

// readNeedsCatalog says whether what a query reads depends on the schema: embeds on
// relationships, text searches and JSON paths on the column's type, and the groups
// of an aggregate on all columns. An aggregate that is refused needs it too:
// PostgREST looks for the table before that.
func readNeedsCatalog(s *query.Spec) bool {
	return itemsNeedCatalog(s.Select) || filtersNeedCatalog(s.Where) || orderNeedsCatalog(s.OrderBy)
}

func itemsNeedCatalog(items []query.Item) bool {
	for _, it := range items {
		switch it := it.(type) {
		case query.Embed:
			return true
		case query.Field:
			if len(it.Path.Steps) > 0 || it.Aggregate != "" {
				return true
			}
		}
	}
	return false
}

func orderNeedsCatalog(keys []query.Order) bool {
	for i := range keys {
		if keys[i].Relation != "" || len(keys[i].Path.Steps) > 0 {
			return true
		}
	}
	return false
}

func filtersNeedCatalog(exprs []query.Expr) bool {
	for _, e := range exprs {
		if filterNeedsCatalog(e) {
			return true
		}
	}
	return false
}

func filterNeedsCatalog(e query.Expr) bool {
	switch e := e.(type) {
	case query.Compare:
		return len(e.Column.Steps) > 0 || isTextSearch(e.Op)
	case query.InList:
		return len(e.Column.Steps) > 0
	case query.Is:
		return len(e.Column.Steps) > 0
	case query.Logic:
		return filtersNeedCatalog(e.Exprs)
	case query.Negation:
		return filterNeedsCatalog(e.Expr)
	}
	return false
}

func isTextSearch(op query.Operator) bool {
	switch op {
	case query.OpTS, query.OpPlainTS, query.OpPhraseTS, query.OpWebTS:
		return true
	}
	return false
}

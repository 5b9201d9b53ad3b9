package catalog

// Known returns the catalog that Get would return at once, and nil where Get would
// load one first.
func (s *Source) Known() *Catalog {
	if p := s.fresh.Load(); p != nil {
		return p.catalog
	}
	return nil
}

// Statement returns what a load runs, for work that must see the schema as its own
// transaction does. [Parse] makes a catalog of the answer, whose one row has one
// column.
func (s *Source) Statement() (sql string, args []string) { return s.sql, s.args }

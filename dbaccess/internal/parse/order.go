package parse

import "github.com/twinpath/twinpath/dbaccess/query"

// orders consumes a list of sort keys.
func (s *scanner) orders() ([]query.Order, error) {
	var keys []query.Order
	for {
		k, err := s.order()
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
		if !s.lit(",") {
			return keys, nil
		}
	}
}

func (s *scanner) order() (k query.Order, err error) {
	s.blanks()
	start := s.pos
	if name, err := s.name(); err == nil && name != "" && s.lit("(") {
		path, err := s.path()
		if err == nil && s.lit(")") {
			k.Relation, k.Path = name, path
			return k, s.direction(&k)
		}
	}
	s.pos = start
	if k.Path, err = s.path(); err != nil {
		return k, err
	}
	return k, s.direction(&k)
}

// direction consumes what may follow a sort key's column, up to its end.
func (s *scanner) direction(k *query.Order) error {
	directed := true
	switch {
	case s.lit(".asc"):
	case s.lit(".desc"):
		k.Desc = true
	default:
		directed = false
	}
	switch {
	case s.lit(".nullsfirst"):
		k.Nulls = query.NullsFirst
	case s.lit(".nullslast"):
		k.Nulls = query.NullsLast
	}
	switch {
	case s.eof(), s.ahead(","):
		return nil
	case k.Nulls != query.NullsDefault || !s.ahead("."):
		return s.fail(`"," or end of input`)
	case directed:
		s.pos++
		return s.fail(`"nullsfirst" or "nullslast"`)
	}
	s.pos++
	return s.fail(`"asc", "desc", "nullsfirst" or "nullslast"`)
}

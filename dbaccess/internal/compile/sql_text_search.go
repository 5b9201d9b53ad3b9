package compile

import (
	"strings"
	"unicode"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// textSearch writes a full text search. A column that is no tsvector is made one
// with the configuration of the query, as PostgREST has done since version 13.
func (w *sqlWriter) textSearch(e *query.Compare) error {
	if w.catalog == nil {
		return ErrNeedsCatalog
	}
	col, known := w.at.column(e.Column.Column)
	vector := known && col.Class == catalog.ClassTSVector
	if !vector {
		w.str("pg_catalog.to_tsvector(")
		w.config(e.Config)
	}
	if err := w.path(&e.Column); err != nil {
		return err
	}
	if !vector {
		w.str(")")
	}
	w.str(" @@ pg_catalog.")
	switch e.Op {
	case query.OpTS:
		w.str("to_tsquery(")
	case query.OpPlainTS:
		w.str("plainto_tsquery(")
	case query.OpPhraseTS:
		w.str("phraseto_tsquery(")
	case query.OpWebTS:
		w.str("websearch_to_tsquery(")
	}
	w.config(e.Config)
	w.arg(e.Value)
	w.str(")")
	return nil
}

// config writes the configuration as an argument that others follow, if there is
// one.
func (w *sqlWriter) config(name string) {
	if name != "" {
		w.arg(name)
		w.str(", ")
	}
}

// checkConfig refuses text search configurations that a request can't name. Its
// grammar has no quotes there, and drops the blanks around.
func checkConfig(e *query.Compare) error {
	switch {
	case e.Config == "":
		return nil
	case !isTextSearch(e.Op):
		return &query.UnsupportedError{Node: "operator " + string(e.Op), Reason: "a text search configuration is of text searches alone"}
	case strings.TrimSpace(e.Config) != e.Config, strings.ContainsFunc(e.Config, outsideConfig):
		return &query.UnsupportedError{Node: "text search configuration", Reason: "PostgREST takes letters, digits, _, $ and blanks in its name"}
	}
	return nil
}

func outsideConfig(r rune) bool {
	return !unicode.IsLetter(r) && ('0' > r || r > '9') && r != '_' && r != '$' && r != ' '
}

// column returns a column of the level's relation, if it is known.
func (lv *level) column(name string) (*catalog.Column, bool) {
	if lv.table == nil {
		return nil, false
	}
	return lv.table.Column(name)
}

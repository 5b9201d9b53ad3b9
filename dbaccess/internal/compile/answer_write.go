package compile

import (
	"net/http"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// answerWrite answers a write. Its rows are the answer's body when they are wanted
// back.
func answerWrite(s *query.Spec, o *Outcome) Reply {
	switch {
	case isPut(s):
		return answerPut(s, o)
	case s.Single && o.Rows != 1:
		return notSingle(o.Rows)
	case s.Write.MaxAffected > 0 && o.Rows > s.Write.MaxAffected:
		return tooManyAffected(o.Rows)
	}
	r := Reply{Status: http.StatusOK, Empty: !s.Write.Return}
	rows := int64(0) // an insert and a delete give no range of rows
	switch {
	case s.Op == query.OpUpdate:
		rows = o.Rows
	case s.Op == query.OpInsert && (s.Write.Conflict != query.ConflictMerge || o.Inserted > 0):
		r.Status = http.StatusCreated
	}
	total := int64(NotCounted)
	if s.Count == query.CountExact || s.Count == query.CountEstimated {
		total = o.Rows
	}
	r.ContentRange = o.contentRange(0, rows, total)
	if r.Empty && s.Op != query.OpInsert {
		r.Status = http.StatusNoContent
	}
	return r
}

func answerPut(s *query.Spec, o *Outcome) Reply {
	switch {
	case o.Rows != 1:
		return putMismatch()
	case !s.Write.Return:
		return Reply{Status: http.StatusNoContent, Empty: true}
	case o.Inserted > 0:
		return Reply{Status: http.StatusCreated}
	}
	return Reply{Status: http.StatusOK}
}

// answerCall answers a call as a read of what the function returned.
func answerCall(s *query.Spec, o *Outcome) Reply {
	if s.Call.MaxAffected > 0 && o.Rows > s.Call.MaxAffected && (!s.Single || o.Rows == 1) {
		return tooManyAffected(o.Rows)
	}
	r := answerRead(s, o)
	if o.Void && (r.Failure == nil || r.Status == http.StatusRequestedRangeNotSatisfiable) {
		r.Status, r.Empty, r.Failure = http.StatusNoContent, true, nil
	}
	return r
}

// IgnoresConflict says whether PostgREST ignores what an insert into the table asks
// to be done about rows that are there, and doesn't name it among the preferences
// applied: there is no primary key to find them by, and no other columns are
// given.
func IgnoresConflict(s *query.Spec, t *catalog.Table) bool {
	return s.Op == query.OpInsert && len(s.Write.ConflictOn) == 0 && len(t.PrimaryKey) == 0
}

package dbprom

import (
	"context"
	"errors"

	"github.com/twinpath/twinpath/dbaccess"
)

// kindOf is the label for an error, "" for none. A caller who changed its mind,
// or found nothing, met no error.
func kindOf(err error) string {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, dbaccess.ErrNoRows) {
		return ""
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return other
}

// kinds has special kinds before those that they imply.
var kinds = []struct {
	err  error
	name string
}{
	{dbaccess.ErrTimeout, "timeout"},
	{context.DeadlineExceeded, "timeout"},
	{dbaccess.ErrSaturated, "saturated"},
	{dbaccess.ErrUnavailable, "unavailable"},
	{dbaccess.ErrClosed, "closed"},
	{dbaccess.ErrUnauthorized, "unauthorized"},
	{dbaccess.ErrPermission, "permission_denied"},
	{dbaccess.ErrNotFound, "not_found"},
	{dbaccess.ErrConflict, "conflict"},
	{dbaccess.ErrInvalid, "invalid"},
	{dbaccess.ErrTruncated, "truncated"},
	{dbaccess.ErrMultipleRows, "multiple_rows"},
}

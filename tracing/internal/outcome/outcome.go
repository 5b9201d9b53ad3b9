// Package outcome says in Sentry's words how a database call ended.
package outcome

import (
	"context"
	"errors"

	"github.com/getsentry/sentry-go"

	"github.com/twinpath/twinpath/dbaccess"
)

// Outcome is how a call ended, in words that hold no values.
type Outcome struct {
	Status    sentry.SpanStatus
	Code      string // PostgREST's code or the SQLSTATE
	ErrorType string // "" unless the call failed
}

// codePastEnd is PostgREST's answer to an offset behind the last row, which
// dbaccess.Page gives its caller as an empty page.
const codePastEnd = "PGRST103"

// Of judges a call as its caller would: having changed one's mind and
// having found nothing are no failures.
func Of(err error) Outcome {
	if err == nil {
		return Outcome{Status: sentry.SpanStatusOK}
	}
	var o Outcome
	if e, ok := errors.AsType[*dbaccess.Error](err); ok {
		o.Code = e.Code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Outcome{Status: sentry.SpanStatusCanceled}
	case errors.Is(err, dbaccess.ErrNoRows), o.Code == codePastEnd:
		o.Status = sentry.SpanStatusOK
		return o
	}
	o.Status, o.ErrorType = sentry.SpanStatusInternalError, "other"
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			o.Status, o.ErrorType = k.status, k.name
			break
		}
	}
	if o.Code != "" {
		o.ErrorType = o.Code
	}
	return o
}

// kinds has special kinds before those that they imply.
var kinds = []struct {
	err    error
	status sentry.SpanStatus
	name   string
}{
	{dbaccess.ErrTimeout, sentry.SpanStatusDeadlineExceeded, "timeout"},
	{context.DeadlineExceeded, sentry.SpanStatusDeadlineExceeded, "timeout"},
	{dbaccess.ErrSaturated, sentry.SpanStatusResourceExhausted, "saturated"},
	{dbaccess.ErrUnavailable, sentry.SpanStatusUnavailable, "unavailable"},
	{dbaccess.ErrUnauthorized, sentry.SpanStatusUnauthenticated, "unauthorized"},
	{dbaccess.ErrPermission, sentry.SpanStatusPermissionDenied, "permission_denied"},
	{dbaccess.ErrNotFound, sentry.SpanStatusNotFound, "not_found"},
	{dbaccess.ErrConflict, sentry.SpanStatusAlreadyExists, "conflict"},
	{dbaccess.ErrInvalid, sentry.SpanStatusInvalidArgument, "invalid"},
	{dbaccess.ErrTruncated, sentry.SpanStatusOutOfRange, "truncated"},
	{dbaccess.ErrMultipleRows, sentry.SpanStatusFailedPrecondition, "multiple_rows"},
	{dbaccess.ErrTransaction, sentry.SpanStatusFailedPrecondition, "transaction"},
	{dbaccess.ErrUnsupported, sentry.SpanStatusUnimplemented, "unsupported"},
	{dbaccess.ErrClosed, sentry.SpanStatusUnavailable, "closed"},
}

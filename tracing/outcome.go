package tracing

import (
	"context"
	"errors"

	"github.com/getsentry/sentry-go"

	"github.com/twinpath/twinpath/dbaccess"
)

// outcome is how a call ended, in words that hold no values.
type outcome struct {
	status    sentry.SpanStatus
	code      string // PostgREST's code or the SQLSTATE
	errorType string // "" unless the call failed
}

// codePastEnd is PostgREST's answer to an offset behind the last row, which
// dbaccess.Page gives its caller as an empty page.
const codePastEnd = "PGRST103"

// outcomeOf judges a call as its caller would: having changed one's mind and
// having found nothing are no failures.
func outcomeOf(err error) outcome {
	if err == nil {
		return outcome{status: sentry.SpanStatusOK}
	}
	var o outcome
	if e, ok := errors.AsType[*dbaccess.Error](err); ok {
		o.code = e.Code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return outcome{status: sentry.SpanStatusCanceled}
	case errors.Is(err, dbaccess.ErrNoRows), o.code == codePastEnd:
		o.status = sentry.SpanStatusOK
		return o
	}
	o.status, o.errorType = sentry.SpanStatusInternalError, "other"
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			o.status, o.errorType = k.status, k.name
			break
		}
	}
	if o.code != "" {
		o.errorType = o.code
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
	{dbaccess.ErrClosed, sentry.SpanStatusUnavailable, "closed"},
}

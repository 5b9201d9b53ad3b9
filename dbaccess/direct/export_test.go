package direct

import "time"

// SetSuspect sets how long a connection is idle before it is asked for a sign of
// life.
func SetSuspect(b *Backend, d time.Duration) { b.suspect = d }

// LoginDue makes what is known of the login role as old as it may get.
func LoginDue(b *Backend) { b.login.due.Store(0) }

package direct

import "time"

// SetSuspect sets how long a connection is idle before it is asked for a sign of
// life.
func SetSuspect(b *Backend, d time.Duration) { b.suspect = d }

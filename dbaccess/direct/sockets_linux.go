package direct

import "golang.org/x/sys/unix"

// hasEnded says whether the other side has closed its end, or the connection has
// broken, also where it said something before that nobody has read: PgBouncer
// tells why it drops an idle client, and TLS says goodbye.
func hasEnded(fd uintptr) bool {
	fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // descriptors are small
	for {
		n, err := unix.Poll(fds[:], 0)
		if err == unix.EINTR {
			continue
		}
		return err != nil || n > 0
	}
}

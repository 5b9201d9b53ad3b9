//go:build unix && !linux

package direct

import "golang.org/x/sys/unix"

// hasEnded says whether the other side has closed its end, or the connection has
// broken. It does not see that behind bytes that nobody has read: then a read fails
// and is tried again on another connection.
func hasEnded(fd uintptr) bool {
	var b [1]byte
	for {
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch err {
		case unix.EINTR:
			continue
		case nil:
			return n == 0
		case unix.EAGAIN:
			return false
		}
		return true
	}
}

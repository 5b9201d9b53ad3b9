package decode

// Check reads a body without making anything of it. It returns the number of elements of an array, and -1 for any
// other value. The error is that of [Rows] for a body that is not JSON.
func Check(body []byte) (rows int, err error) {
	d, err := newDecoder(nil, body, Options{})
	if err != nil {
		return 0, err
	}
	if d.kind() != array {
		if err := d.skip(); err != nil {
			return 0, err
		}
		return -1, d.end()
	}
	if err := d.items(']', func() error { rows++; return d.skip() }); err != nil {
		return 0, err
	}
	return rows, d.end()
}

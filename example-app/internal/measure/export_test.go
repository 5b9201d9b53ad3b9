package measure

// ParseAnswer reads a probe's answer as Run does.
func ParseAnswer(status int, body []byte) (*Sample, *Failure) {
	s := &Sample{Status: status}
	f := s.parse(status, body)
	return s, f
}

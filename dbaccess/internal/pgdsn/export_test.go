package pgdsn

// Collect returns the values that were given, by name.
func Collect(dsn string) map[string]string {
	values := map[string]string{}
	for name, g := range collect(dsn) {
		values[name] = g.value
	}
	return values
}

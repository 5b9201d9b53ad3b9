package dbaccess

// Path is a way to the database.
type Path string

// The two paths.
const (
	REST   Path = "rest"   // HTTP to PostgREST
	Direct Path = "direct" // a Postgres connection on a transaction pooler
)

// other returns the path that isn't p.
func (p Path) other() Path {
	if p == REST {
		return Direct
	}
	return REST
}

// Valid says whether p is one of the two paths.
func (p Path) Valid() bool { return p == REST || p == Direct }

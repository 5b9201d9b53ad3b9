package auth

import (
	"bytes"
	"encoding/json"
	"strings"
)

// members walks the members of a JSON object that json.Valid has passed. It
// keeps the bytes, where a map would lose their order and their duplicates.
type members struct {
	b []byte
	i int
}

type member struct {
	name       []byte // quoted, as it stands in the object
	value      []byte
	start, end int // from the name's quote to behind the value
}

func membersOf(object []byte) members {
	return members{b: object, i: bytes.IndexByte(object, '{') + 1}
}

// next returns the next member, and false at the object's end.
func (m *members) next() (member, bool) {
	m.skip(" \t\r\n,")
	if m.i >= len(m.b) || m.b[m.i] != '"' {
		return member{}, false
	}
	r := member{start: m.i}
	m.text()
	r.name = m.b[r.start:m.i]
	m.skip(" \t\r\n:")
	from := m.i
	m.valueEnd()
	r.value, r.end = m.b[from:m.i], m.i
	return r, true
}

func (m *members) skip(set string) {
	for m.i < len(m.b) && strings.IndexByte(set, m.b[m.i]) >= 0 {
		m.i++
	}
}

// text moves behind the string that starts here.
func (m *members) text() {
	for m.i++; m.i < len(m.b) && m.b[m.i] != '"'; m.i++ {
		if m.b[m.i] == '\\' {
			m.i++
		}
	}
	m.i++
}

// valueEnd moves behind the value that starts here.
func (m *members) valueEnd() {
	for depth := 0; m.i < len(m.b); {
		switch m.b[m.i] {
		case '"':
			m.text()
			if depth == 0 {
				return
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return // the object's own, behind a number or a word
			}
			if depth--; depth == 0 {
				m.i++
				return
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return
			}
		}
		m.i++
	}
}

// is says whether the member has the name. Names match exactly, unlike those of
// encoding/json's struct fields, and however they are escaped.
func (m member) is(name string) bool {
	if bytes.IndexByte(m.name, '\\') < 0 {
		return string(m.name[1:len(m.name)-1]) == name
	}
	var s string
	return json.Unmarshal(m.name, &s) == nil && s == name
}

// lookup returns the last member of that name, which is the one that Postgres
// reads, and how many there are.
func lookup(object []byte, name string) (value []byte, n int) {
	ms := membersOf(object)
	for {
		m, ok := ms.next()
		if !ok {
			return value, n
		}
		if m.is(name) {
			value, n = m.value, n+1
		}
	}
}

// repeats says whether an object has a name more than once. Readers differ over
// which member counts: to PostgREST it is the first, to Postgres the last.
func repeats(object []byte) bool {
	seen := map[string]bool{}
	for ms := membersOf(object); ; {
		m, ok := ms.next()
		if !ok {
			return false
		}
		var name string
		if json.Unmarshal(m.name, &name) != nil || seen[name] {
			return true
		}
		seen[name] = true
	}
}

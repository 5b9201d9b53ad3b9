package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ClaimPath says where in a token's claims the Postgres role is: PostgREST's
// jwt-role-claim-key. The zero value is the path .role.
//
// A path is one or more steps:
//
//	.name  ."any name"            the member of an object; letters, digits, _ $ @ need no quotes
//	[0]                           the element of an array
//	[?(@ == "text")]              the first string in an array that is text; or != (is not),
//	                              ^== (begins with), ==^ (ends with), *== (contains)
//	[1:3]  [1:]  [:-1]            a part of a string, counted in characters, from its end below zero
//
// A quoted name or text can't hold a quotation mark.
//
// Filters came with PostgREST 13; parts of strings are newer still. An older
// PostgREST doesn't start with such a path.
//
// Source: https://docs.postgrest.org/en/stable/references/auth.html#jwt-role-extraction
type ClaimPath struct {
	text  string
	steps []claimStep
}

// DefaultClaimPath is PostgREST's default, which the zero [ClaimPath] stands for.
const DefaultClaimPath = ".role"

// maxClaimSteps bounds a path. No claims nest that deep.
const maxClaimSteps = 64

type claimStep struct {
	kind     stepKind
	text     string // a member's name, or what a filter compares with
	from, to int    // an index in from, or the bounds of a part
	open     bool   // the part goes to the string's end
}

type stepKind uint8

const (
	stepMember stepKind = iota
	stepElement
	stepPart
	stepEquals
	stepDiffers
	stepBegins
	stepEnds
	stepContains
)

// operators of filters. Longer ones come first where one begins like another.
var operators = [...]struct {
	text string
	kind stepKind
}{
	{"==^", stepEnds}, {"==", stepEquals}, {"!=", stepDiffers}, {"^==", stepBegins}, {"*==", stepContains},
}

// ParseClaimPath reads a path, written as in PostgREST's configuration. Empty
// means [DefaultClaimPath].
func ParseClaimPath(s string) (ClaimPath, error) {
	if s == "" {
		s = DefaultClaimPath
	}
	p := ClaimPath{text: s}
	if !utf8.ValidString(s) {
		return ClaimPath{}, errors.New("auth: claim path is not valid UTF-8")
	}
	for rest := s; rest != ""; {
		if len(p.steps) == maxClaimSteps {
			return ClaimPath{}, fmt.Errorf("auth: claim path has more than %d steps", maxClaimSteps)
		}
		step, n, reason := parseStep(rest)
		if reason != "" {
			return ClaimPath{}, fmt.Errorf("auth: claim path, at byte %d: %s", len(s)-len(rest), reason)
		}
		p.steps = append(p.steps, step)
		rest = rest[n:]
	}
	return p, nil
}

// parseStep reads the step that s begins with and returns its length, or why it
// is none.
func parseStep(s string) (step claimStep, n int, reason string) {
	switch {
	case s[0] == '.':
		name, n, reason := parseName(s[1:])
		return claimStep{kind: stepMember, text: name}, 1 + n, reason
	case strings.HasPrefix(s, "[?("):
		return parseFilter(s)
	case s[0] == '[':
		return parseBrackets(s)
	}
	return claimStep{}, 0, "a step begins with a period or a bracket"
}

func parseName(s string) (name string, n int, reason string) {
	if strings.HasPrefix(s, `"`) {
		return parseQuoted(s)
	}
	n = strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_$@", r)
	})
	if n < 0 {
		n = len(s)
	}
	if n == 0 {
		return "", 0, "a period needs a name behind it, in quotation marks when it has more than letters, digits, _, $ and @"
	}
	return s[:n], n, ""
}

func parseQuoted(s string) (text string, n int, reason string) {
	if !strings.HasPrefix(s, `"`) {
		return "", 0, "a text in quotation marks is missing"
	}
	text, _, closed := strings.Cut(s[1:], `"`)
	if !closed {
		return "", 0, "a quotation mark is not closed"
	}
	return text, len(text) + 2, ""
}

func parseFilter(s string) (step claimStep, n int, reason string) {
	blank := func() {
		n += len(s[n:]) - len(strings.TrimLeftFunc(s[n:], unicode.IsSpace))
	}
	n = len("[?(")
	if !strings.HasPrefix(s[n:], "@") {
		return step, 0, "a filter begins with [?(@"
	}
	n++
	blank()
	known := false
	for _, op := range operators {
		if known = strings.HasPrefix(s[n:], op.text); known {
			step.kind = op.kind
			n += len(op.text)
			break
		}
	}
	if !known {
		return step, 0, "a filter compares with ==, !=, ^==, ==^ or *=="
	}
	blank()
	text, length, reason := parseQuoted(s[n:])
	if reason != "" {
		return step, 0, reason
	}
	step.text = text
	if n += length; !strings.HasPrefix(s[n:], ")]") {
		return step, 0, "a filter ends in )]"
	}
	return step, n + len(")]"), ""
}

const badBrackets = "brackets hold an index such as [0], a part such as [1:] or a filter such as [?(@ == \"x\")]"

func parseBrackets(s string) (step claimStep, n int, reason string) {
	inner, _, closed := strings.Cut(s[1:], "]")
	if !closed {
		return step, 0, "a bracket is not closed"
	}
	n = len(inner) + 2
	from, to, part := strings.Cut(inner, ":")
	if !part {
		i, ok := parseIndex(from)
		if !ok || from[0] == '-' {
			return step, 0, badBrackets
		}
		return claimStep{kind: stepElement, from: i}, n, ""
	}
	step = claimStep{kind: stepPart, open: to == "" || to == "-"}
	ok := true
	if from != "" && from != "-" { // PostgREST reads a lone sign as no bound
		step.from, ok = parseIndex(from)
	}
	if ok && !step.open {
		step.to, ok = parseIndex(to)
	}
	if !ok {
		return claimStep{}, 0, badBrackets
	}
	return step, n, ""
}

// parseIndex reads digits with an optional minus. No claim is as long as the
// numbers that don't fit.
func parseIndex(s string) (int, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	i, err := strconv.ParseInt(s, 10, 32)
	return int(i), err == nil
}

// String returns the path as it was written.
func (p ClaimPath) String() string {
	if p.text == "" {
		return DefaultClaimPath
	}
	return p.text
}

// Members returns the names of the leading members, and whether the path is made
// of them alone.
func (p ClaimPath) Members() (names []string, whole bool) {
	for _, s := range p.walk() {
		if s.kind != stepMember {
			return names, false
		}
		names = append(names, s.text)
	}
	return names, true
}

func (p ClaimPath) walk() []claimStep {
	if len(p.steps) == 0 {
		return []claimStep{{kind: stepMember, text: DefaultClaimPath[1:]}}
	}
	return p.steps
}

// Find returns the JSON value at the path, and whether there is one. A step that
// doesn't fit what is there finds nothing, as in PostgREST, to which such a token
// is anonymous. Of repeated members the last counts.
func (p ClaimPath) Find(claims json.RawMessage) (json.RawMessage, bool) {
	if !isObject(claims) {
		return nil, false
	}
	v := claims
	for _, s := range p.walk() {
		var ok bool
		if v, ok = s.find(v); !ok {
			return nil, false
		}
	}
	return v, true
}

func (s claimStep) find(v json.RawMessage) (json.RawMessage, bool) {
	switch {
	case s.kind == stepMember:
		if !isObject(v) {
			return nil, false
		}
		found, n := lookup(v, s.text)
		return found, n > 0
	case s.kind == stepPart:
		text, ok := textOf(v)
		if !ok {
			return nil, false
		}
		part, err := json.Marshal(s.part([]rune(text)))
		return part, err == nil
	}
	var elements []json.RawMessage
	if v[0] != '[' || json.Unmarshal(v, &elements) != nil {
		return nil, false
	}
	if s.kind == stepElement {
		if s.from >= len(elements) {
			return nil, false
		}
		return elements[s.from], true
	}
	i := slices.IndexFunc(elements, func(e json.RawMessage) bool {
		text, ok := textOf(e)
		return ok && s.matches(text)
	})
	if i < 0 {
		return nil, false
	}
	return elements[i], true
}

func (s claimStep) matches(text string) bool {
	switch s.kind {
	case stepEquals:
		return text == s.text
	case stepDiffers:
		return text != s.text
	case stepBegins:
		return strings.HasPrefix(text, s.text)
	case stepEnds:
		return strings.HasSuffix(text, s.text)
	case stepContains:
		return strings.Contains(text, s.text)
	}
	return false
}

func (s claimStep) part(text []rune) string {
	bound := func(i int) int {
		if i < 0 {
			i += len(text)
		}
		return max(0, min(len(text), i))
	}
	from, to := bound(s.from), len(text)
	if !s.open {
		to = bound(s.to)
	}
	if from >= to {
		return ""
	}
	return string(text[from:to])
}

// textOf returns the text of a JSON string.
func textOf(v json.RawMessage) (string, bool) {
	var s string
	if v[0] != '"' || json.Unmarshal(v, &s) != nil {
		return "", false
	}
	return s, true
}

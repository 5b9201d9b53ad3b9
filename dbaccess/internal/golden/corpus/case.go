package corpus

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Case is a request and the answer that PostgREST gave.
type Case struct {
	ID              string            `json:"id"`
	As              string            `json:"as"` // the caller: a name in the corpus's tokens, or "anon"
	Method          string            `json:"method"`
	Path            string            `json:"path"` // decoded
	Query           string            `json:"query"`
	Headers         map[string]string `json:"headers"`
	Body            *string           `json:"body"`
	Status          int               `json:"status"`
	ResponseHeaders map[string]string `json:"response_headers"` // by names in lower case
	Response        string            `json:"response"`
	Volatile        []string          `json:"volatile"` // members of rows that may differ
}

// Group is what the case is about: the part of its name before the first dash.
func (c *Case) Group() string {
	g, _, _ := strings.Cut(c.ID, "-")
	return g
}

// changesRows says whether the case inserts or deletes rows, of which a
// Content-Range gives no window.
func (c *Case) changesRows() bool {
	return (c.Method == "POST" || c.Method == "DELETE") && !strings.HasPrefix(c.Path, "rpc/")
}

// Corpus is the cases and the bearer tokens of their callers.
type Corpus struct {
	Cases  []Case
	Tokens map[string]string
}

// The settings with which the answers were recorded.
const (
	Secret   = "golden-corpus-jwt-secret-at-least-32-bytes!"
	AnonRole = "anon"
	Login    = "authenticator" // name and password of the login role
)

// Schemas are those that were exposed.
func Schemas() []string { return []string{"public", "private_api"} }

// Load reads the corpus from its directory.
func Load(dir string) (*Corpus, error) {
	var c Corpus
	tokens, err := os.ReadFile(filepath.Join(dir, "tokens.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(tokens, &c.Tokens); err != nil {
		return nil, fmt.Errorf("corpus: tokens.json: %w", err)
	}
	f, err := os.Open(filepath.Join(dir, "cases.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	seen := map[string]bool{}
	for lines.Scan() {
		var one Case
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("corpus: cases.jsonl, line %d: %w", len(c.Cases)+1, err)
		}
		if one.ID == "" || seen[one.ID] {
			return nil, fmt.Errorf("corpus: cases.jsonl, line %d: the id is missing or not the only one", len(c.Cases)+1)
		}
		if _, ok := c.Tokens[one.As]; !ok && one.As != AnonRole {
			return nil, fmt.Errorf("corpus: case %s: no token for %q", one.ID, one.As)
		}
		seen[one.ID] = true
		c.Cases = append(c.Cases, one)
	}
	if len(c.Cases) == 0 && lines.Err() == nil {
		return nil, errors.New("corpus: cases.jsonl is empty")
	}
	return &c, lines.Err()
}

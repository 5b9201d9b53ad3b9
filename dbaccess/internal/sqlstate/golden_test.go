package sqlstate_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/internal/sqlstate"
)

// Every error of the golden corpus that came from the database has the status
// that PostgREST answered.
func TestGoldenStatuses(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../../../testdata/golden/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	checked := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var c struct {
			ID       string
			As       string
			Status   int
			Response string
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		var body struct{ Code, Message string }
		if c.Status < 400 || json.Unmarshal([]byte(c.Response), &body) != nil || len(body.Code) != 5 || body.Code == sqlstate.CodeRaise {
			continue
		}
		checked++
		if got := sqlstate.HTTPStatus(body.Code, body.Message, c.As == "anon"); got != c.Status {
			t.Errorf("%s: HTTPStatus(%q, …) = %d, want %d", c.ID, body.Code, got, c.Status)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if checked < 10 {
		t.Errorf("only %d cases had a SQLSTATE", checked)
	}
}

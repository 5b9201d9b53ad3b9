package decode_test

import (
	"testing"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		`[]`:                          0,
		" [{\"a\":[1,2]}, \n 3, []] ": 3,
		`{"a":[1]}`:                   -1,
		`null`:                        -1,
		`"x"`:                         -1,
	} {
		if rows, err := decode.Check([]byte(body)); err != nil || rows != want {
			t.Errorf("%s: %d rows, %v; want %d", body, rows, err, want)
		}
	}
	for _, body := range []string{``, ` `, `zzz`, `[{"id":1},{"id":`, `[1],`, `[1] 2`, "[\"\xff\"]", `{"a"}`} {
		if _, err := decode.Check([]byte(body)); err == nil {
			t.Errorf("%q: no error", body)
		}
	}
}

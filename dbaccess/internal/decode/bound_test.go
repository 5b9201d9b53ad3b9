package decode_test

import (
	"testing"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

func TestReached(t *testing.T) {
	t.Parallel()
	bounds := []decode.Bound{
		{Name: "items", Max: 2, Nested: []decode.Bound{{Name: `q"t`, Max: 3}}},
		{Name: "owner", Nested: []decode.Bound{{Name: "lists", Max: 1}}},
	}
	for body, want := range map[string]string{
		`[]`: "",
		`[{"id":1,"items":[{"q\"t":[1,2]}],"owner":null}]`:                "",
		`[{"other":[1,2,3,4],"items":[]},{"items": [ {} , {} ]}]`:         "items",
		`{"items":[{"q\"t":[[1,2],2,3]}]}`:                                `q"t`,
		`[{"owner":{"lists":[],"items":[1,2,3]}}]`:                        "",
		`[{"owner":{"lists":[{}]}}]`:                                      "lists",
		`[{"items":"[1,2,3]","owner":[{"lists":[1]}]},{"items":{"a":1}}]`: "lists",
	} {
		got, err := decode.Reached([]byte(body), bounds)
		if err != nil || got != want {
			t.Errorf("%s: reached %q, %v; want %q", body, got, err, want)
		}
	}
	for _, body := range []string{``, `[{"items":[1}]`, `[{"items"}]`, `[{"x":1]`} {
		if _, err := decode.Reached([]byte(body), bounds); err == nil {
			t.Errorf("%q: no error", body)
		}
	}
}

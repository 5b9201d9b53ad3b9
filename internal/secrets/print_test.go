package secrets_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// canary is a secret, or stands for one. Nothing else in this module looks like it.
// It is in two pieces because Sentry sends the source lines of stack traces.
const canary = "canary" + "7q4x9"

// shown is what the ways that people have to look at a value make of it.
func shown(v any) map[string]string {
	out := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		out[verb] = fmt.Sprintf(verb, v)
	}
	// As a part of something else.
	out["%+v in a slice"] = fmt.Sprintf("%+v", []any{v})
	out["%+v in a struct"] = fmt.Sprintf("%+v", struct{ Part any }{v})
	if b, err := json.Marshal(v); err != nil {
		out["json's error"] = err.Error()
	} else {
		out["json"] = string(b)
	}
	var buf bytes.Buffer
	slog.New(slog.NewJSONHandler(&buf, nil)).Info("m", "v", v)
	slog.New(slog.NewTextHandler(&buf, nil)).Info("m", "v", v)
	out["slog"] = buf.String()
	return out
}

// holds says whether a text has a canary in it, in whatever disguise fmt and
// encoding/json have for one.
func holds(text string) bool {
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprint([]byte(canary)), bytesIn(canary), b64(canary)} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// bytesIn is how %#v writes bytes, without the braces.
func bytesIn(s string) string {
	s = fmt.Sprintf("%#v", []byte(s))
	return strings.TrimSuffix(s[strings.IndexByte(s, '{')+1:], "}")
}

// b64 is a part of what encoding/json makes of bytes that hold s, at whatever
// offset.
func b64(s string) string {
	b, err := json.Marshal([]byte(s))
	if err != nil {
		return s
	}
	return strings.Trim(string(b), `"=`)[:12]
}

// planted makes a value of a type with a canary in everything that can hold one,
// unexported fields included. What decided calls public gets an ordinary text.
func planted(typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	plant(v, canary, 0)
	return v
}

func plant(v reflect.Value, text string, depth int) {
	if depth > 7 || isOpaque(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"a":"` + text + `"}`)) // JSON, as most bytes here are
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		plant(v.Index(0), text, depth+1)
	case reflect.Array:
		for i := range v.Len() {
			plant(v.Index(i), text, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		plant(key, text, depth+1)
		plant(elem, text, depth+1)
		if key.Comparable() {
			v.SetMapIndex(key, elem)
		}
	case reflect.Pointer:
		if !isOpaque(v.Type().Elem()) {
			v.Set(reflect.New(v.Type().Elem()))
			plant(v.Elem(), text, depth+1)
		}
	case reflect.Interface:
		plantInterface(v, text, depth)
	case reflect.Struct:
		d, known := decided[nameOf(v.Type())]
		for i := range v.NumField() {
			f := v.Field(i)
			if !f.CanSet() {
				f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
			}
			content := text
			if known && (d.typ == nil || slices.Contains(d.public, v.Type().Field(i).Name)) {
				content = "public"
			}
			plant(f, content, depth+1)
		}
	}
}

// nameOf is a type's name as decided has it.
func nameOf(t reflect.Type) string { return t.String() }

func plantInterface(v reflect.Value, text string, depth int) {
	for _, candidate := range []any{text, errors.New(text), talkative{text}} {
		if reflect.TypeOf(candidate).AssignableTo(v.Type()) {
			v.Set(reflect.ValueOf(candidate))
			return
		}
	}
	for _, m := range members {
		if m.AssignableTo(v.Type()) {
			field := reflect.New(m).Elem()
			plant(field, text, depth+1)
			v.Set(field)
			return
		}
	}
}

// talkative says its secret to whoever asks.
type talkative struct{ Secret string }

func (t talkative) String() string { return t.Secret }

// isOpaque says whether a struct is of no use to a planter: those of other modules
// keep their own secrets, and locks hold none.
func isOpaque(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() != "" && !strings.HasPrefix(t.PkgPath(), modulePath)
}

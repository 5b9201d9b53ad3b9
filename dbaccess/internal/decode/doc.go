// Package decode reads the JSON rows that Postgres makes into Go values. Both access paths hand it the same kind of body
// ([{"id":4,"ticker":"ACME"}, …], one object, or a bare value), so both give the same Go values by construction.
//
// A caller holds one [Cache], asks it for the [Plan] of a row type with [PlanFor], learns from [Plan.Columns] what to
// select, and reads the body with [Rows] or [Row].
//
// # Row types
//
// A struct is a row. The column of a field is its db tag, else its json tag; a field with neither is an error, and one
// tagged "-" is left out, as unexported ones are. Options after a comma are ignored. Embedded structs without a tag stand
// for their fields; two fields for one column are an error, embedded or not. A field tagged embed takes a related
// table's rows, see [Embed]. A row must have every column of the struct, once; what else it has is skipped. Structs inside
// a column (composite and json values) use the same tags, but may find members missing or repeated: the last one counts.
//
// map[string]T, any and json.RawMessage take the row as it is. All other types, such as int64, time.Time or []string, are
// rows of one value: an object with one member, or a bare value, as functions answer.
//
// A struct with UnmarshalJSON, UnmarshalText or Scan is one value, unless it has a tagged field: then it is a row whose
// methods are passed over.
//
// # Types
//
// The first line that fits the Go type is used; docs/types.md has the same by Postgres type, written from tests:
//
//	time.Time                  date, timestamp, timestamptz; in UTC. Without a zone: the wall clock in UTC. Years beyond
//	                           9999 and BC (44 BC is year -43). infinity is an error that wraps ErrInfinity
//	time.Duration              interval of hours, minutes and seconds; time (since midnight). Years, months and days are an error
//	json.RawMessage            anything, byte for byte, repeated names and blanks included; NULL and a json null are null
//	jsontext.Value             the same
//	json.Number                numbers, digit by digit, without NaN and infinities
//	netip.Addr                 inet of a host
//	netip.Prefix               inet and cidr; a host has the full length
//	net.HardwareAddr           macaddr, macaddr8; NULL as nil
//	sql.Null[T], sql.NullX     what T or X takes, and NULL
//	*T                         what T takes, and NULL as nil
//	UnmarshalJSONFrom          anything (encoding/json/v2); the method must not keep what it is given, here and below
//	UnmarshalJSON              anything; dates, times, NaN and infinities that it refuses are given to Scan
//	UnmarshalText              text, and the digits of numbers
//	Scan                       bool; int64, or the digits as string when it is none; string, or time.Time when that is refused;
//	                           []byte for objects and arrays; nil for NULL
//	pgtype.Range[T]            range; T takes the bounds; NULL as not valid
//	pgtype.Multirange[…]       multirange; NULL as nil
//	bool                       boolean
//	intN, uintN                integers in range, also quoted ones (oid). 1.0 and 1e3 are errors
//	float32, float64           numbers in range, rounded; NaN, Infinity, -Infinity
//	string                     text of any type: text, enum, uuid, range, inet, …; numbers, digit by digit
//	[]byte                     bytea in hex form; NULL as nil
//	[16]byte                   uuid; bytea of 16 bytes
//	[N]byte                    bytea of N bytes
//	[]T                        arrays; json arrays; NULL as nil
//	[N]T                       arrays of N elements
//	map[string]T               hstore, json objects; NULL as nil
//	struct                     composite, json objects
//	any                        bool, json.Number (never float64), string, []any, map[string]any, nil
//
// Other types are an error of the plan. SQL NULL into a type that cannot hold it is an error that wraps [ErrNull],
// elements of arrays included, unless [Options.NullAsZero] is set. A type with one of the Unmarshal methods can hold NULL
// when it is a slice or map, has a bool field Valid, or has a method IsNull; one that only has Scan is asked with nil.
//
// # Errors
//
// [*SyntaxError], [*TypeError] and [*MissingColumnError] say where and why and never quote a value. Nothing is
// returned beside an error.
//
// # Cost
//
// The body is read once, by a scanner that takes what RFC 8259 takes and is fuzzed against encoding/json and jsontext.
// Strings are parts of one copy of the body, byte slices are cut from shared blocks, so allocations are about one for
// each slice, map and pointer.
package decode

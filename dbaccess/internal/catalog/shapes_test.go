package catalog_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestShapesOfRelationships(t *testing.T) {
	t.Parallel()
	c := shapes(t)
	want := map[string][]string{
		// A composite key joins in the key's order, and is one-to-one by the set of its columns.
		"invoices": {"orders one-to-one invoices_order_fkey(no=no,region=region)"},
		"messages": {
			"people many-to-one messages_receiver_fkey(receiver_id=id)",
			"people many-to-one messages_sender_fkey(sender_id=id)",
			"people_view (view) many-to-one messages_receiver_fkey(receiver_id=person)",
			"people_view (view) many-to-one messages_receiver_fkey(receiver_id=person_again)",
			"people_view (view) many-to-one messages_sender_fkey(sender_id=person)",
			"people_view (view) many-to-one messages_sender_fkey(sender_id=person_again)",
			"people_view_view (view) many-to-one messages_receiver_fkey(receiver_id=p)",
			"people_view_view (view) many-to-one messages_sender_fkey(sender_id=p)",
		},
		// Through a view of another schema, which is on the extra path …
		"messages_view": {
			"people many-to-one messages_sender_fkey(from_person=id)",
			"people_view (view) many-to-one messages_sender_fkey(from_person=person)",
			"people_view (view) many-to-one messages_sender_fkey(from_person=person_again)",
			"people_view_view (view) many-to-one messages_sender_fkey(from_person=p)",
		},
		// … and not through one that is not.
		"messages_lost": {},
		// The CTE, the subqueries and the join of lines_view have target lists of their own.
		"lines_view": {
			"orders many-to-one lines_order_fkey(region=region,no=no)",
		},
		"half_lines":   {},
		"united":       {},
		"computed_ids": {},
		"Odd) V": {
			`people many-to-one Odd{(T_c\d_fkey(x{ }y=id)`,
			`people_view (view) many-to-one Odd{(T_c\d_fkey(x{ }y=person)`,
			`people_view (view) many-to-one Odd{(T_c\d_fkey(x{ }y=person_again)`,
			`people_view_view (view) many-to-one Odd{(T_c\d_fkey(x{ }y=p)`,
		},
		// Views of tables that are not exposed themselves.
		"parents":       {"children (view) one-to-many children_parent_fkey(id=parent_id)"},
		"children":      {"parents (view) many-to-one children_parent_fkey(parent_id=id)"},
		"measures_2026": {},
		// A computed relationship with the name of a table replaces those to the table.
		"lines": {"orders computed by public.orders, to one: true"},
		// visits is no junction: its keys are not part of its primary key.
		"rooms": {
			"bookings one-to-many bookings_room_id_fkey(id=room_id)",
			"cleanings one-to-many cleaned_fkey(id=room_id)",
			"people many-to-many bookings(bookings_room_id_fkey: id=room_id; bookings_person_id_fkey: id=person_id)",
			"people many-to-many cleanings(cleaned_fkey: id=room_id; cleaner_fkey: id=person_id)",
			"people_view (view) many-to-many bookings(bookings_room_id_fkey: id=room_id; bookings_person_id_fkey: person=person_id)",
			"people_view (view) many-to-many bookings(bookings_room_id_fkey: id=room_id; bookings_person_id_fkey: person_again=person_id)",
			"people_view (view) many-to-many cleanings(cleaned_fkey: id=room_id; cleaner_fkey: person=person_id)",
			"people_view (view) many-to-many cleanings(cleaned_fkey: id=room_id; cleaner_fkey: person_again=person_id)",
			"people_view_view (view) many-to-many bookings(bookings_room_id_fkey: id=room_id; bookings_person_id_fkey: p=person_id)",
			"people_view_view (view) many-to-many cleanings(cleaned_fkey: id=room_id; cleaner_fkey: p=person_id)",
			"teams many-to-many bookings(bookings_room_id_fkey: id=room_id; bookings_team_id_fkey: id=team_id)",
			"visits one-to-many visits_room_id_fkey(id=room_id)",
		},
	}
	for table, want := range want {
		got := describeAll(c.Relationships("public", table))
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", table, diff)
		}
	}
}

func TestShapesOfSelfRelationships(t *testing.T) {
	t.Parallel()
	c := shapes(t)
	var self []string
	for _, r := range c.Relationships("public", "people") {
		if r.IsSelf() {
			self = append(self, describe(r))
		}
	}
	want := []string{
		"people one-to-many people_mentor_fkey(id=mentor_id)",
		"people many-to-one people_mentor_fkey(mentor_id=id)",
		"people one-to-one people_spouse_id_fkey(id=spouse_id) parent",
		"people one-to-one people_spouse_id_fkey(spouse_id=id)",
		"people many-to-many friendships(friendships_a_fkey: id=a; friendships_b_fkey: id=b)",
		"people many-to-many friendships(friendships_b_fkey: id=b; friendships_a_fkey: id=a)",
		// A materialized view that shows both keys is a junction, too.
		"people many-to-many friends(friendships_a_fkey: id=friend; friendships_b_fkey: id=other)",
		"people many-to-many friends(friendships_b_fkey: id=other; friendships_a_fkey: id=friend)",
		"people computed by public.best_friend, to one: true",
	}
	slices.Sort(self)
	slices.Sort(want)
	if diff := gocmp.Diff(want, self); diff != "" {
		t.Errorf("self relationships of people (-want +got):\n%s", diff)
	}
}

// PostgREST can't reach one-to-one and many-to-many relationships of a table with
// itself, and neither do we.
func TestShapesResolution(t *testing.T) {
	t.Parallel()
	c := shapes(t)
	for _, tt := range []struct{ origin, target, hint, want string }{
		{"people", "people", "", "people one-to-many people_mentor_fkey(id=mentor_id)"},
		{"people", "people", "mentor_id", "people one-to-many people_mentor_fkey(id=mentor_id)"},
		{"people", "mentor_id", "mentor_id", catalog.CodeNoRelationship},
		{"people", "mentor_id", "", "people many-to-one people_mentor_fkey(mentor_id=id)"},
		{"people", "people", "friendships", catalog.CodeNoRelationship},
		{"people", "people", "people_mentor_fkey", catalog.CodeNoRelationship},
		{"people", "people_mentor_fkey", "", catalog.CodeNoRelationship},
		{"people", "spouse_id", "", catalog.CodeNoRelationship},
		{"people", "best_friend", "", "people computed by public.best_friend, to one: true"},
		{"people", "all_rooms", "", "rooms computed by public.all_rooms, to one: false"},
		{"people", "one_room", "whatever", "rooms computed by public.one_room, to one: true"},
		{"people", "messages", "", catalog.CodeAmbiguousRelationship},
		{"people", "messages", "sender_id", "messages one-to-many messages_sender_fkey(id=sender_id)"},
		{"people", "messages", "id", catalog.CodeAmbiguousRelationship},
		{"people", "rooms", "", catalog.CodeAmbiguousRelationship},
		{"people", "rooms", "bookings", "rooms many-to-many bookings(bookings_person_id_fkey: id=person_id; bookings_room_id_fkey: id=room_id)"},
		{"people", "teams", "bookings", "teams many-to-many bookings(bookings_person_id_fkey: id=person_id; bookings_team_id_fkey: id=team_id)"},
		{"people", "teams", "bookings_team_id_fkey", catalog.CodeNoRelationship},
		{"messages", "people", "", catalog.CodeAmbiguousRelationship},
		{"messages", "sender_id", "", "people many-to-one messages_sender_fkey(sender_id=id)"},
		{"messages", "people_view", "messages_sender_fkey", catalog.CodeAmbiguousRelationship},
		{"messages", "people_view", "person", catalog.CodeAmbiguousRelationship},
		{"messages", "people_view_view", "sender_id", "people_view_view (view) many-to-one messages_sender_fkey(sender_id=p)"},
		{"lines", "orders", "", "orders computed by public.orders, to one: true"},
		{"lines_view", "lines_order_fkey", "", "orders many-to-one lines_order_fkey(region=region,no=no)"},
		{"lines_view", "no", "", catalog.CodeNoRelationship},
		{"invoices", "orders", "", "orders one-to-one invoices_order_fkey(no=no,region=region)"},
		{"orders", "invoices", "invoices_order_fkey", "invoices one-to-one invoices_order_fkey(no=no,region=region) parent"},
		{"children", "children_parent_fkey", "", catalog.CodeNoRelationship},
		{"children", "parents", "parent_id", "parents (view) many-to-one children_parent_fkey(parent_id=id)"},
		{"nowhere", "people", "", catalog.CodeNoRelationship},
	} {
		got := ""
		r, err := c.Relationship("public", tt.origin, tt.target, tt.hint)
		var failure *catalog.Error
		switch {
		case errors.As(err, &failure):
			got = failure.Code
		case err != nil:
			got = err.Error()
		default:
			got = describe(r)
		}
		if got != tt.want {
			t.Errorf("%s → %s!%s = %s, want %s", tt.origin, tt.target, tt.hint, got, tt.want)
		}
	}
}

func TestShapesAmbiguity(t *testing.T) {
	t.Parallel()
	c := shapes(t)
	for _, tt := range []struct {
		origin, target, hint string
		details              []catalog.Candidate
		advice               string
	}{
		{"people", "rooms", "", []catalog.Candidate{
			{
				Cardinality: "many-to-many", Embedding: "people with rooms",
				Relationship: "bookings using bookings_person_id_fkey(person_id) and bookings_room_id_fkey(room_id)",
			},
			{
				Cardinality: "many-to-many", Embedding: "people with rooms",
				Relationship: "cleanings using cleaner_fkey(person_id) and cleaned_fkey(room_id)",
			},
		}, "'rooms!bookings', 'rooms!cleanings'"},
		{"people", "messages", "id", []catalog.Candidate{
			{
				Cardinality: "one-to-many", Embedding: "people with messages",
				Relationship: "messages_receiver_fkey using people(id) and messages(receiver_id)",
			},
			{
				Cardinality: "one-to-many", Embedding: "people with messages",
				Relationship: "messages_sender_fkey using people(id) and messages(sender_id)",
			},
		}, "'messages!messages_receiver_fkey', 'messages!messages_sender_fkey'"},
	} {
		_, err := c.Relationship("public", tt.origin, tt.target, tt.hint)
		var got *catalog.Error
		if !errors.As(err, &got) {
			t.Errorf("%s → %s!%s: error %v, want a *catalog.Error", tt.origin, tt.target, tt.hint, err)
			continue
		}
		want := &catalog.Error{
			Code: "PGRST201", Status: 300,
			Message: "Could not embed because more than one relationship was found for '" + tt.origin + "' and '" + tt.target + "'",
			Details: tt.details,
			Hint:    "Try changing '" + tt.target + "' to one of the following: " + tt.advice + ". Find the desired relationship in the 'details' key.",
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s → %s!%s (-want +got):\n%s", tt.origin, tt.target, tt.hint, diff)
		}
	}
}

func TestShapesOfTables(t *testing.T) {
	t.Parallel()
	c := shapes(t)
	for name, want := range map[string]catalog.Kind{
		"orders": catalog.KindTable, "people_view": catalog.KindView, "friends": catalog.KindMaterializedView,
		"remote": catalog.KindForeignTable, "measures": catalog.KindPartitionedTable,
	} {
		if table, ok := c.Table("public", name); !ok || table.Kind != want {
			t.Errorf("%s: %v, want a %s", name, table, want)
		}
	}
	for _, name := range []string{"measures_2026", "between", "unseen"} {
		if table, ok := c.Table("public", name); ok {
			t.Errorf("%s is exposed as a %s", name, table.Kind)
		}
	}
	if _, ok := c.Table("hidden", "parents"); ok {
		t.Error("a table outside the exposed schemas is exposed")
	}
	for name, want := range map[string][]string{
		"people_view": {"person"}, "people_view_view": {"p"}, "messages_view": {"message"}, "lines_view": {"line"},
		"half_lines": {"line"}, "united": nil, "computed_ids": nil, "friends": {"friend", "other"},
		"parents": {"id"}, "children": {"id"}, "Odd) V": {":resno 9 :resname"},
	} {
		table, ok := c.Table("public", name)
		if !ok {
			t.Errorf("no view %s", name)
			continue
		}
		if diff := gocmp.Diff(want, table.PrimaryKey); diff != "" {
			t.Errorf("primary key of %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestShapesOfColumns(t *testing.T) {
	t.Parallel()
	table, ok := shapes(t).Table("public", "kinds")
	if !ok {
		t.Fatal("no table kinds")
	}
	want := []catalog.Column{
		{Name: "id", Type: "integer", NotNull: true, Identity: "always"},
		{Name: "by_default", Type: "integer", NotNull: true, Identity: "by default", Default: "nextval('public.kinds_by_default_seq')"},
		{Name: "serial", Type: "integer", NotNull: true, Default: "nextval('public.kinds_serial_seq'::regclass)"},
		{Name: "twice", Type: "integer", Generated: "stored"},
		{Name: "code", Type: "text", Default: "hidden.next_code()"},
		{Name: "char5", Type: "character(5)"},
		{Name: "bits", Type: "bit(4)"},
		{Name: "price", Type: "numeric(12,4)"},
		{Name: "at", Type: "timestamp(3) with time zone"},
		{Name: "home", Type: "public.address", Class: catalog.ClassComposite},
		{Name: "homes", Type: "public.address[]", Class: catalog.ClassArray},
		{Name: "mood", Type: `public."Mood (x)"`, Class: catalog.ClassEnum},
		{Name: "moods", Type: `public."Mood (x)"[]`, Class: catalog.ClassArray},
		{Name: "mail", Type: "public.email", BaseType: "text", Default: "'nobody@example.org'::text"},
		{Name: "work", Type: "public.work_email", BaseType: "text", NotNull: true, Default: "'nobody@example.org'::text"},
		{Name: "payload", Type: "public.payload", BaseType: "jsonb", Class: catalog.ClassJSONB},
		{Name: "doc", Type: "json", Class: catalog.ClassJSON},
		{Name: "docs", Type: "jsonb[]", Class: catalog.ClassArray},
		{Name: "words", Type: "tsvector", Class: catalog.ClassTSVector},
		{Name: "during", Type: "tstzrange", Class: catalog.ClassRange},
		{Name: "spans", Type: "int4multirange", Class: catalog.ClassMultirange},
		{Name: "matrix", Type: "integer[]", Class: catalog.ClassArray},
		{Name: "own_mail", Type: "public.email", BaseType: "text", Default: "'own@example.org'::text"},
		{Name: "last", Type: `"char"`},
	}
	if diff := gocmp.Diff(want, table.Columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if column, ok := table.Column("payload"); !ok || !column.IsDomain() || !column.IsJSON() {
		t.Errorf("payload: %+v, want a domain over JSON", column)
	}
	if column, ok := table.Column("gone"); ok {
		t.Errorf("the dropped column is there: %+v", column)
	}
}

// The document does not depend on the login's search_path, and leaves it as it was.
func TestSearchPathDoesNotMatter(t *testing.T) {
	t.Parallel()
	db := pgtest.NewDatabase(t, "testdata/shapes.sql")
	db.Exec(t, `create schema evil;
		create function evil.format_type(oid, int) returns text language sql as 'select ''evil''::text';
		create function evil.json_agg(json) returns json language sql as 'select null::json';
		create function evil.unnest(anyarray) returns setof int language sql as 'select 1';
		create view evil.pg_class as select 1 as oid;
		create type evil.text as (a int);
		create type evil.json as (a int);`)
	want := string(mustJSON(t, load(t, db.SuperDSN, "", []string{"public"}, "extra")))
	for _, path := range []string{"''", "public, hidden, extra", "evil, public, pg_catalog"} {
		got := string(mustJSON(t, load(t, db.SuperDSN, "set search_path = "+path, []string{"public"}, "extra")))
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("with search_path %s (-want +got):\n%s", path, diff)
		}
	}

	sql, args := catalog.SQL([]string{"public"})
	got, err := query(t.Context(), db.SuperDSN, "", "select current_setting('search_path') from ("+sql+") c", args)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"$user", public`; string(got) != want {
		t.Errorf("search_path is %s afterwards, want %s", got, want)
	}
}

// The same schema gives the same bytes, and what was saved says the same.
func TestJSONIsStable(t *testing.T) {
	t.Parallel()
	db := pgtest.NewDatabase(t, "testdata/shapes.sql")
	first := load(t, db.SuperDSN, "", []string{"public"}, "extra")
	// Move rows of the catalogs about without changing what they say.
	db.Exec(t, "alter table orders rename to o2; alter table o2 rename to orders; alter function late rename to later; alter function later rename to late;")
	second := load(t, db.SuperDSN, "", []string{"public"}, "extra")
	if diff := gocmp.Diff(string(mustJSON(t, first)), string(mustJSON(t, second))); diff != "" {
		t.Errorf("two loads differ (-first +second):\n%s", diff)
	}
	saved, err := catalog.Parse(mustJSON(t, first))
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(mustJSON(t, first)), string(mustJSON(t, saved))); diff != "" {
		t.Errorf("the saved document differs (-want +got):\n%s", diff)
	}
	for _, table := range tables(first) {
		want := describeAll(first.Relationships(table.Schema, table.Name))
		if diff := gocmp.Diff(want, describeAll(saved.Relationships(table.Schema, table.Name))); diff != "" {
			t.Errorf("relationships of the saved %s (-want +got):\n%s", table.Name, diff)
		}
	}
}

// Every relationship that was found can be walked back.
func TestRelationshipsAreMirrored(t *testing.T) {
	t.Parallel()
	mirrored := map[catalog.Cardinality]catalog.Cardinality{
		catalog.OneToMany: catalog.ManyToOne, catalog.ManyToOne: catalog.OneToMany,
		catalog.OneToOne: catalog.OneToOne, catalog.ManyToMany: catalog.ManyToMany,
	}
	swap := func(js []catalog.Join) []catalog.Join {
		var out []catalog.Join
		for _, j := range js {
			out = append(out, catalog.Join{From: j.To, To: j.From})
		}
		return out
	}
	mirror := func(r catalog.Relationship) string {
		m := r
		m.Origin, m.Target, m.OriginIsView, m.TargetIsView = r.Target, r.Origin, r.TargetIsView, r.OriginIsView
		m.Cardinality, m.Columns = mirrored[r.Cardinality], swap(r.Columns)
		m.Parent = r.Cardinality == catalog.OneToOne && !r.Parent
		if j := r.Junction; j != nil {
			m.Junction = &catalog.Junction{
				Table: j.Table, OriginConstraint: j.TargetConstraint, TargetConstraint: j.OriginConstraint,
				Origin: j.Target, Target: j.Origin,
			}
		}
		return describe(&m)
	}
	for name, c := range map[string]*catalog.Catalog{"golden": golden(t), "shapes": shapes(t)} {
		n := 0
		for _, table := range tables(c) {
			for _, r := range c.Relationships(table.Schema, table.Name) {
				if r.Function != nil || r.Target.Name == "lines" || r.Origin.Name == "lines" {
					continue // computed, or hidden behind a computed one
				}
				n++
				back := describeAll(c.Relationships(r.Target.Schema, r.Target.Name))
				if want := mirror(*r); !slices.Contains(back, want) {
					t.Errorf("%s: %s → %s, but %s has no %s", name, table.Name, describe(r), r.Target, want)
				}
				if r.Origin != table.Ident() {
					t.Errorf("%s: a relationship of %s starts at %s", name, table.Ident(), r.Origin)
				}
			}
		}
		if n < 30 {
			t.Errorf("%s: only %d relationships were looked at", name, n)
		}
	}
}

// All lookups of a name find the same thing, in code point order.
func TestTablesAreSorted(t *testing.T) {
	t.Parallel()
	c := golden(t)
	all := tables(c)
	if !slices.IsSortedFunc(all, func(a, b *catalog.Table) int {
		return cmp.Or(strings.Compare(a.Schema, b.Schema), strings.Compare(a.Name, b.Name))
	}) {
		t.Error("tables are not sorted")
	}
	for _, want := range all {
		if got, ok := c.Table(want.Schema, want.Name); !ok || got != want {
			t.Errorf("Table(%s) = %p, want %p", want.Ident(), got, want)
		}
	}
}

// Package catalog knows what PostgREST's schema cache knows: the tables, views,
// columns, keys, relationships and functions of the exposed schemas. The direct
// path compiles embeds, writes and function calls with it, and the stand-in
// answers the same errors as PostgREST does.
//
//	sql, args := catalog.SQL([]string{"public"}, "extensions")
//	// run sql with args as text parameters: one row, one text column
//	cat, err := catalog.Parse(body)
//
//	table, ok := cat.Table("public", "companies")
//	rel, err := cat.Relationship("public", "companies", "sectors", "")
//	fn, err := cat.Function("public", "add_them", catalog.Call{Args: []string{"a", "b"}, Body: catalog.BodyJSON})
//
// A [Source] loads the catalog when it is first needed, keeps it, and loads it
// again when told that the schema has changed. [Catalog.JSON] writes a document
// that can be saved and handed to a process that must start fast.
//
// A Catalog never changes, and may be used from several goroutines. What it hands
// out is shared: don't modify it.
//
// # Relationships
//
// Foreign keys give many-to-one and one-to-many relationships, or one-to-one where
// the key's columns are a primary or unique key as a whole. A table whose primary
// key includes two of its foreign keys joins the tables they refer to many-to-many.
// A view has the relationships of the columns that it passes on unchanged, through
// other views, joins, subqueries and CTEs; a UNION, an expression or a cast ends
// the trail, and so does a view outside the exposed and extra schemas. A key must
// be passed on whole. A function from a row of one table to rows of another is a
// computed relationship. Which of them an embed means is decided by
// [Catalog.Relationship].
//
// Source: https://docs.postgrest.org/en/stable/references/api/resource_embedding.html
package catalog

// Package rest is the access path through PostgREST, run by
// supabase-community/postgrest-go.
//
//	restPath, err := rest.New(rest.Config{
//		URL:    supabaseURL + "/rest/v1",
//		APIKey: anonKey,
//	})
//	db, err := dbaccess.New(dbaccess.Config{REST: restPath, …})
//
// A call acts as its identity's bearer token says. An identity without one is
// sent without a token when its role is the anonymous one, else [Config.Signer]
// mints a token for it, and without a signer the call fails.
//
// # How postgrest-go is used
//
// Its builders lose filters, know no context and share mutable headers, so each
// call has a client of its own, whose round tripper sends the request that
// twinpath's compiler wrote: one query string, one Accept and one Prefer header,
// under the call's context and over connections that all calls share. Redirects
// are refused, because the client would repeat the token to wherever they lead,
// and every status from 300 on is an error.
//
// # Errors
//
// Errors are *[dbaccess.Error]. An answer that is not PostgREST's, such as a
// gateway's page, keeps its status and says where to look. No error text, of the
// underlying errors neither, holds the URL's query, a token or a key.
package rest

// Package rest is the access path through PostgREST, run by
// supabase-community/postgrest-go.
//
//	restPath, err := rest.New(rest.Config{
//		URL:    supabaseURL + "/rest/v1",
//		APIKey: publishableKey,
//	})
//	db, err := dbaccess.New(dbaccess.Config{REST: restPath, …})
//
// A call acts as its identity's bearer token says. An identity without one is
// sent without a token when its role is the anonymous one, or the one that
// [Config.APIKey] stands for. Else [Config.Signer] mints a token for it, good for
// about a call, and without a signer the call fails.
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
// # Reads and writes
//
// A read whose kept connection turns out to be closed, before a byte of its answer has
// come, is sent again on another one, by net/http. Nothing else is, an answer of a gateway that can't
// reach PostgREST neither.
//
// No write is ever sent twice, by net/http neither. When no answer comes, or one of a
// gateway that has none, the error says that nobody knows what became of it.
//
// # Long lists
//
// A read whose list of values (query.In) would make its URL longer than
// [Config.MaxURLBytes] is sent as several requests, one after the other, whose rows
// are put together; they are not one snapshot. A list may hold the same value
// written in two ways, such as 1 and 01: then its row may come twice. What can't be split is refused before anything is
// sent, and [Backend.Check] says so without sending.
//
// # Errors
//
// Errors are *[dbaccess.Error]. An answer that is not PostgREST's, such as a
// gateway's page, keeps its status and says where to look: it is a [*GatewayError], too. No error text, of the
// underlying errors neither, holds the URL's query, a token or a key.
package rest

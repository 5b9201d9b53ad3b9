// Package delays has one test: that a delay which is put into a certain step of a
// call shows in the phase of that step and in no other, on both access paths, and
// for code without the facade.
//
// The steps are made slow where they happen: a name server that takes its time, a
// backlog that is full, a server that is slow to shake hands or to log in, a pool
// and a pooler that are taken, a statement that sleeps, an answer whose first byte
// or whose middle is late, a type that is slow to decode.
package delays

package rest

// NewTransport makes what a Backend uses where its Config has no Transport.
var NewTransport = newTransport

package middleware

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/labstack/echo/v4"
)

// Skipper says whether a request passes by a middleware untouched.
type Skipper func(c echo.Context) bool

func (s Skipper) skips(c echo.Context) bool { return s != nil && s(c) }

// SkipPaths skips requests for these paths, such as those of health checks. It
// looks at the path that is asked for, not at the route, so it also works under
// Echo.Pre.
func SkipPaths(paths ...string) Skipper {
	paths = slices.Clone(paths)
	return func(c echo.Context) bool { return slices.Contains(paths, c.Request().URL.Path) }
}

// SkipPreflights is a [Skipper] for the requests by which browsers ask whether
// they may make another one (CORS).
func SkipPreflights(c echo.Context) bool {
	r := c.Request()
	return r.Method == http.MethodOptions && r.Header.Get(echo.HeaderOrigin) != "" && r.Header.Get(echo.HeaderAccessControlRequestMethod) != ""
}

// SkipAny skips requests that one of the skippers skips. Nil ones are ignored.
func SkipAny(skippers ...Skipper) Skipper {
	skippers = slices.Clone(skippers)
	return func(c echo.Context) bool {
		return slices.ContainsFunc(skippers, func(s Skipper) bool { return s.skips(c) })
	}
}

// TrustPeers is for SentryConfig.TrustSampling: it trusts connections from these
// networks. It looks at the connection alone and at no header such as
// X-Forwarded-For, so behind a proxy it is the proxy that is trusted or not, with
// all whose sentry-trace headers it lets pass.
func TrustPeers(networks ...netip.Prefix) func(c echo.Context) bool {
	networks = slices.Clone(networks)
	return func(c echo.Context) bool {
		peer, err := netip.ParseAddrPort(c.Request().RemoteAddr)
		if err != nil {
			return false
		}
		addr := peer.Addr().Unmap().WithZone("")
		return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) })
	}
}

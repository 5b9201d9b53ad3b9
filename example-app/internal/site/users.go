package site

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/example-app/internal/stock"
)

const (
	cookieToken = "demo_token"
	tokenLife   = 12 * time.Hour
	anonymous   = "anonymous"
)

// demoUser is somebody to sign in as. There are no passwords: it is a demo.
type demoUser struct {
	Name string
	sub  string
}

// demoUsers are the users that the switch offers, the first one signed out.
func demoUsers() []demoUser {
	return []demoUser{{Name: anonymous}, {Name: "alice", sub: stock.Alice}, {Name: "bob", sub: stock.Bob}}
}

// mint returns a token for the user as an identity provider would issue it.
func (s *Site) mint(ctx context.Context, u demoUser) (string, error) {
	claims, err := json.Marshal(map[string]any{"sub": u.sub, "name": u.Name, "exp": time.Now().Add(tokenLife).Unix()})
	if err != nil {
		return "", err
	}
	return s.cfg.Tokens.Sign(ctx, auth.Identity{Role: stock.RoleAuthenticated, Claims: claims})
}

// switchUser signs a demo user in or out.
func (s *Site) switchUser(c echo.Context) error {
	name := c.FormValue("user")
	for _, u := range demoUsers() {
		if u.Name != name {
			continue
		}
		cookie := newCookie(c.Request())
		if u.sub != "" {
			token, err := s.mint(c.Request().Context(), u)
			if err != nil {
				return err
			}
			cookie.Value, cookie.MaxAge = token, int(tokenLife.Seconds())
		}
		c.SetCookie(cookie)
		return c.Redirect(http.StatusSeeOther, "/")
	}
	return &Problem{Status: http.StatusBadRequest, Code: "bad_parameter", Message: "user is none of the demo's users"}
}

// cookieName is the cookie of this instance's users. Browsers send a cookie to all ports of a host, and
// another instance's would be of no use here.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil && portForm.MatchString(port) {
		return cookieToken + "_" + port
	}
	return cookieToken
}

var portForm = regexp.MustCompile(`^[0-9]{1,5}$`)

func newCookie(r *http.Request) *http.Cookie {
	return &http.Cookie{Name: cookieName(r), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: -1}
}

// signedIn returns the identity of the request's cookie and its token. A token that doesn't verify,
// because it has expired or an earlier run with another secret made it, signs its user out.
func (s *Site) signedIn(c echo.Context) (id auth.Identity, token string) {
	r := c.Request()
	cookie, err := r.Cookie(cookieName(r))
	if err != nil || cookie.Value == "" {
		return auth.Identity{}, ""
	}
	if id, err = s.cfg.Tokens.Verify(r.Context(), cookie.Value); err != nil {
		c.SetCookie(newCookie(r))
		return auth.Identity{}, ""
	}
	return id, cookie.Value
}

// cookieBearer turns the token of the demo's cookie into a bearer token, where the request brings
// none, for the middleware that verifies it.
func (s *Site) cookieBearer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if _, token := s.signedIn(c); token != "" && r.Header.Get(echo.HeaderAuthorization) == "" {
			r.Header.Set(echo.HeaderAuthorization, "Bearer "+token)
		}
		r.Header.Del(echo.HeaderCookie) // nothing further in needs it
		return next(c)
	}
}

// userOf names the demo user whose cookie the request has, for the home page's switch.
func (s *Site) userOf(c echo.Context) string {
	id, token := s.signedIn(c)
	for _, u := range demoUsers() {
		if token != "" && u.sub == id.Subject() {
			return u.Name
		}
	}
	return anonymous
}

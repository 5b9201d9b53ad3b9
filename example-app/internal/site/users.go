package site

import (
	"context"
	"encoding/json"
	"net/http"
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
		cookie := &http.Cookie{Name: cookieToken, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: -1}
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

// cookieBearer turns the token of the demo's cookie into a bearer token, where the request brings
// none, for the middleware that verifies it.
func cookieBearer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if cookie, err := r.Cookie(cookieToken); err == nil && cookie.Value != "" && r.Header.Get(echo.HeaderAuthorization) == "" {
			r.Header.Set(echo.HeaderAuthorization, "Bearer "+cookie.Value)
		}
		r.Header.Del(echo.HeaderCookie) // nothing further in needs it
		return next(c)
	}
}

// userOf names the demo user whose cookie the request has, for the home page's switch.
func (s *Site) userOf(r *http.Request) string {
	cookie, err := r.Cookie(cookieToken)
	if err != nil {
		return anonymous
	}
	id, err := s.cfg.Tokens.Verify(r.Context(), cookie.Value)
	if err != nil {
		return anonymous
	}
	for _, u := range demoUsers() {
		if u.sub != "" && u.sub == id.Subject() {
			return u.Name
		}
	}
	return anonymous
}

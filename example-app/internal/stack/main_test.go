package stack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// fakeEnv makes the test binary play the part of the program postgrest. Its value is the file to
// write the environment to.
const fakeEnv = "STACK_TEST_POSTGREST"

func TestMain(m *testing.M) {
	if file := os.Getenv(fakeEnv); file != "" {
		fmt.Fprintln(os.Stderr, fakePostgREST(file))
		os.Exit(1)
	}
	os.Exit(pgtest.Run(m))
}

// fakePostgREST reads its configuration where PostgREST does and serves what PostgREST would, as far
// as the stand-in goes.
func fakePostgREST(file string) error {
	env, err := json.Marshal(os.Environ())
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, env, 0o600); err != nil {
		return err
	}
	if strings.HasSuffix(file, "-fails") {
		return fmt.Errorf("cannot connect with %s", os.Getenv("PGRST_DB_URI"))
	}
	h, err := postgresttest.NewHandler(postgresttest.Config{
		DSN: os.Getenv("PGRST_DB_URI"), JWTSecret: os.Getenv("PGRST_JWT_SECRET"),
		AnonRole: os.Getenv("PGRST_DB_ANON_ROLE"), Schemas: strings.Split(os.Getenv("PGRST_DB_SCHEMAS"), ","),
		Version: "13.0.4",
	})
	if err != nil {
		return err
	}
	root := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" { // the OpenAPI description, which the stand-in doesn't have
			w.Header().Set("Server", "postgrest/13.0.4")
			fmt.Fprintln(w, "{}")
			return
		}
		h.ServeHTTP(w, r)
	})
	return http.ListenAndServe(os.Getenv("PGRST_SERVER_HOST")+":"+os.Getenv("PGRST_SERVER_PORT"), root)
}

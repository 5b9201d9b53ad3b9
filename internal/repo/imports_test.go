package repo_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// graph has, for each package of the root module, what its non-test files import: packages of the
// module as paths from its root ("." for the root), others by their import path.
type graph map[string][]string

// thirdParty says which packages may import which module. A module that is not here is not a
// dependency; a new line is a decision. "x/..." stands for x and all below it.
var thirdParty = map[string][]string{
	"github.com/jackc/pgx/v5": {
		"dbaccess/direct", "dbaccess/pgflag", "dbaccess/pgstream", "dbaccess/doctor", "dbaccess/postgresttest",
		"dbaccess/internal/pgdsn", "tracing/pgxtrace", "example-app/...",
		"internal/localpg", "internal/localpg/pgtest",
	},
	"github.com/supabase-community/postgrest-go": {"dbaccess/rest", "example-app/adopt/postgrest"},
	"github.com/getsentry/sentry-go":             {"tracing/...", "middleware", "example-app/...", "internal/sentrytest"},
	"github.com/labstack/echo/v4":                {"middleware", "example-app/..."},
	"github.com/open-feature/go-sdk":             {"dbaccess/flagrouter", "example-app/..."},
	"github.com/golang-jwt/jwt/v5":               {"dbaccess/auth/jwt"},
	"github.com/MicahParks/jwkset":               {"dbaccess/auth/jwt"},
	"github.com/go-json-experiment/json":         {"dbaccess/internal/decode"},
	"github.com/HdrHistogram/hdrhistogram-go":    {"dbaccess/latency"},
	"github.com/go-analyze/charts":               {"example-app/internal/measure"},
	"github.com/prometheus/client_golang":        {"dbaccess/dbprom"},
	"go.uber.org/goleak":                         {"internal/localpg/pgtest"},
	"golang.org/x/sys":                           {"dbaccess/direct"},
}

// closed says all that the packages at the heart may import of this module. What is not here may
// import what the rules below do not forbid.
var closed = map[string][]string{
	"dbaccess/query":             {},
	"dbaccess/auth":              {},
	"dbaccess/compare":           {},
	"dbaccess/internal/decode":   {},
	"dbaccess/internal/sqlstate": {},
	"dbaccess/internal/pgdsn":    {},
	"dbaccess/internal/catalog":  {},
	"dbaccess/internal/advice":   {"dbaccess/query"},
	"dbaccess/internal/compile":  {"dbaccess/internal/catalog", "dbaccess/query"},
	"dbaccess/internal/parse":    {"dbaccess/internal/compile", "dbaccess/query"},
	"dbaccess/auth/jwt":          {"dbaccess/auth"},
	"dbaccess":                   {"dbaccess/query", "dbaccess/auth", "dbaccess/internal/decode"},
	"dbaccess/rollout":           {"dbaccess"},
	"dbaccess/latency":           {"dbaccess", "dbaccess/auth", "dbaccess/query"},
	"internal/localpg":           {},
	"internal/wireproxy":         {},
	"internal/servertiming":      {},
	"internal/sqltext":           {},
}

// testSupport are the packages that only tests import.
var testSupport = []string{"internal/localpg/pgtest", "internal/sentrytest"}

// unreachable lists what a package must not depend on, directly or through others.
var unreachable = []struct {
	from   []string // patterns
	except []string
	to     []string
	why    string
}{
	{from: []string{"dbaccess/rest"}, to: []string{"dbaccess/direct"}, why: "the two backends never meet"},
	{from: []string{"dbaccess/direct"}, to: []string{"dbaccess/rest"}, why: "the two backends never meet"},
	{from: []string{"./..."}, except: []string{"example-app/..."}, to: []string{"example-app/..."}, why: "nothing builds on the demo"},
	{from: []string{"dbaccess/...", "internal/..."}, to: []string{"middleware", "tracing/..."}, why: "the core does not know its add-ons"},
	{
		from: []string{"./..."}, except: testSupport,
		to:  append([]string{"go.uber.org/goleak/...", "github.com/google/go-cmp/...", "testing"}, testSupport...),
		why: "test support stays out of production",
	},
	{
		from: []string{"./..."}, except: []string{"internal/...", "example-app/...", "dbaccess/internal/golden/..."},
		to:  []string{"internal/localpg", "internal/wireproxy"},
		why: "only the demo and the tests start servers",
	},
}

// bannedNames say nothing about what a package is for.
var bannedNames = []string{"util", "utils", "common", "helper", "helpers", "types", "models", "base", "shared", "misc", "lib"}

func TestImports(t *testing.T) {
	t.Parallel()
	g := loadGraph(t)
	if len(g["dbaccess"]) == 0 {
		t.Fatal("go list shows no imports of dbaccess: this test would prove nothing")
	}
	report(t, checkImports(g))
}

func TestImportsCheckCanFail(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		g    graph
		want []string
	}{
		{"fine", graph{
			"dbaccess": {"context", "dbaccess/query"}, "dbaccess/query": {"fmt"}, "dbaccess/direct": {"dbaccess", "github.com/jackc/pgx/v5/pgxpool"},
			"example-app/site": {"dbaccess/direct", "internal/localpg", "example-app"}, "internal/localpg": {"github.com/jackc/pgx/v5"},
		}, nil},
		{"unknown module", graph{"dbaccess/direct": {"github.com/lib/pq"}}, []string{"github.com/lib/pq"}},
		{"module in the wrong package", graph{"dbaccess/rest": {"github.com/jackc/pgx/v5/pgconn"}}, []string{"github.com/jackc/pgx/v5/pgconn"}},
		{"like a module that is allowed", graph{"dbaccess/direct": {"github.com/jackc/pgx/v55"}}, []string{"github.com/jackc/pgx/v55"}},
		{"wrong below the package that may", graph{"middleware/x": {"github.com/labstack/echo/v4"}}, []string{"github.com/labstack/echo/v4"}},
		{"std only", graph{"dbaccess/query": {"dbaccess/auth"}}, []string{"dbaccess/query imports dbaccess/auth"}},
		{"core", graph{"dbaccess": {"dbaccess/internal/compile"}}, []string{"dbaccess imports dbaccess/internal/compile"}},
		{"backends meet through a third", graph{"dbaccess/rest": {"dbaccess/x"}, "dbaccess/x": {"dbaccess/direct"}},
			[]string{"dbaccess/rest → dbaccess/x → dbaccess/direct"}},
		{"demo", graph{"dbaccess/x": {"example-app/site"}}, []string{"nothing builds on the demo"}},
		{"add-on", graph{"dbaccess/x": {"tracing"}}, []string{"does not know its add-ons"}},
		{"test support", graph{"middleware": {"internal/localpg/pgtest"}, "internal/localpg/pgtest": {"internal/localpg"}},
			[]string{"test support", "only the demo"}},
		{"testing", graph{"tracing": {"testing"}}, []string{"testing"}},
		{"name", graph{"dbaccess/internal/helpers/x": nil}, []string{"helpers"}},
		{"server", graph{"dbaccess/doctor": {"internal/localpg"}}, []string{"only the demo"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantProblems(t, checkImports(tt.g), tt.want...)
		})
	}
}

func checkImports(g graph) []string {
	var problems []string
	for _, from := range slices.Sorted(maps.Keys(g)) {
		for _, to := range g[from] {
			if isThirdParty(to) && !mayImport(from, to) {
				problems = append(problems, fmt.Sprintf("%s imports %s, which thirdParty does not allow", from, to))
			}
			allowed, isClosed := closed[from]
			if isClosed && isOurs(g, to) && !slices.Contains(allowed, to) {
				problems = append(problems, fmt.Sprintf("%s imports %s; of this module it may import only %q", from, to, allowed))
			}
		}
		for _, rule := range unreachable {
			if !matchesAny(rule.from, from) || matchesAny(rule.except, from) {
				continue
			}
			if path := pathTo(g, from, rule.to); path != nil {
				problems = append(problems, fmt.Sprintf("%s: %s", strings.Join(path, " → "), rule.why))
			}
		}
		for element := range strings.SplitSeq(from, "/") {
			if slices.Contains(bannedNames, element) {
				problems = append(problems, fmt.Sprintf("%s: name a package for what it gives, not %q", from, element))
			}
		}
	}
	return problems
}

// isThirdParty reports whether an import is neither of the standard library nor ours: such paths
// begin with a domain.
func isThirdParty(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".") && first != "."
}

func isOurs(g graph, path string) bool {
	_, known := g[path]
	return known || strings.HasPrefix(path, "dbaccess/") || strings.HasPrefix(path, "internal/localpg")
}

func mayImport(from, to string) bool {
	for module, packages := range thirdParty {
		if (to == module || strings.HasPrefix(to, module+"/")) && matchesAny(packages, from) {
			return true
		}
	}
	return false
}

// matchesAny reports whether a path fits one of the patterns, which are as those of the go command.
func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, below := strings.CutSuffix(pattern, "/...")
		return path == prefix || below && (prefix == "." || strings.HasPrefix(path, prefix+"/"))
	})
}

// pathTo returns a chain of imports, the shortest, from a package to one that fits a pattern, or nil.
func pathTo(g graph, from string, to []string) []string {
	seen := map[string]bool{from: true}
	for queue := [][]string{{from}}; len(queue) > 0; queue = queue[1:] {
		path := queue[0]
		for _, next := range g[path[len(path)-1]] {
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := append(slices.Clone(path), next)
			if matchesAny(to, next) {
				return longer
			}
			queue = append(queue, longer)
		}
	}
	return nil
}

func loadGraph(t *testing.T) graph {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	g := graph{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return g
		} else if err != nil {
			t.Fatal(err)
		}
		imports := []string{}
		for _, path := range p.Imports {
			imports = append(imports, fromRoot(path))
		}
		g[fromRoot(p.ImportPath)] = imports
	}
}

func fromRoot(path string) string {
	if path == modulePath {
		return "."
	}
	return strings.TrimPrefix(path, modulePath+"/")
}

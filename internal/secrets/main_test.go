package secrets_test

import (
	"os"
	"testing"

	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

package doctor_test

import (
	"testing"

	"github.com/twinpath/twinpath/dbaccess/doctor"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestHealthy(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	r := doctor.Run(t.Context(), doctor.Config{
		DirectDSN: db.PoolerDSN, SessionDSN: db.DirectDSN, AdminDSN: pgtest.Pooler(t).AdminDSN(),
		RESTURL: standIn(t, postgresttest.Config{DSN: db.DirectDSN, ServerTiming: true}), JWTSecret: secret,
		Roles: []string{"anon", "authenticated", "service_role"}, Instances: 20,
	})
	t.Log("\n" + r.Text())
}

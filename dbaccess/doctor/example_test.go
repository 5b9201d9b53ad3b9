package doctor_test

import (
	"context"
	"fmt"

	"github.com/twinpath/twinpath/dbaccess/doctor"
)

func ExampleRun() {
	report := doctor.Run(context.Background(), doctor.Config{
		DirectDSN: "postgres://postgres:secret@aws-0-eu-west-1.pooler.supabase.com:6543/postgres?sslmode=require&timezone=UTC",
	})
	for _, f := range report.Findings {
		if f.Severity >= doctor.Warning {
			fmt.Printf("%s: %s\n  → %s\n", f.Severity, f.What, f.Mend)
		}
	}
	fmt.Println("exit code", report.ExitCode())
	// Output:
	// error: timezone is refused
	//   → it would change the JSON of values on this path alone: remove it
	// error: user is refused
	//   → Supabase's shared pooler can't tell whose database it is: write the user as role.project, such as postgres.abcdefghijklmnopqrst, as the dashboard shows it
	// exit code 2
}

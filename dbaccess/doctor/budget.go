package doctor

import (
	"fmt"
	"time"
)

// budgets are the shares of Config.Timeout that steps have. They add up to less than the
// whole even where every step to two servers uses its own up.
type budgets struct {
	lookup, dial, login, ask, listen, request time.Duration
}

func budgetsOf(timeout time.Duration) budgets {
	part := timeout / 18 // half a second of the default
	return budgets{lookup: 4 * part, dial: 4 * part, login: 6 * part, ask: 5 * part, listen: 3 * part, request: 6 * part}
}

// prologue goes before every question, in the same transaction: nobody's search_path
// changes what it means, it can't write, and it ends before the question's own budget.
func (b budgets) prologue() string {
	return fmt.Sprintf(`select set_config('search_path','pg_catalog',true), set_config('transaction_read_only','on',true), set_config('statement_timeout','%d',true)`,
		max(1, b.ask.Milliseconds()*4/5))
}

package sqlstate_test

import (
	"fmt"

	"github.com/twinpath/twinpath/dbaccess/internal/sqlstate"
)

func ExampleHTTPStatus() {
	const message = "permission denied for table secrets"
	fmt.Println(sqlstate.HTTPStatus("42501", message, true))
	fmt.Println(sqlstate.HTTPStatus("42501", message, false))
	fmt.Println(sqlstate.HTTPStatus("PT402", "Quota exceeded", false))
	// Output:
	// 401
	// 403
	// 402
}

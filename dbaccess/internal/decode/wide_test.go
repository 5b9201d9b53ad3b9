package decode_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

// TestWideRows has more columns than there are bits at hand without an allocation.
func TestWideRows(t *testing.T) {
	t.Parallel()
	members := make([]string, reflect.TypeFor[wide]().NumField())
	for i := range members {
		members[i] = fmt.Sprintf(`"c%d":%d`, i, i)
	}
	got, err := rows[wide](t, "[{"+strings.Join(members, ",")+"}]", decode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range members {
		if v := reflect.ValueOf(got[0]).Field(i).Int(); v != int64(i) {
			t.Errorf("column c%d is %d", i, v)
		}
	}
	for _, without := range []int{0, 63, 64, 128, len(members) - 1} {
		some := append(append([]string{}, members[:without]...), members[without+1:]...)
		_, err := rows[wide](t, "[{"+strings.Join(some, ",")+"}]", decode.Options{})
		var e *decode.MissingColumnError
		if want := fmt.Sprintf("c%d", without); !asType(err, &e) || e.Column != want {
			t.Errorf("without %s: got %v", want, err)
		}
	}
}

type wide struct {
	C0   int `db:"c0"`
	C1   int `db:"c1"`
	C2   int `db:"c2"`
	C3   int `db:"c3"`
	C4   int `db:"c4"`
	C5   int `db:"c5"`
	C6   int `db:"c6"`
	C7   int `db:"c7"`
	C8   int `db:"c8"`
	C9   int `db:"c9"`
	C10  int `db:"c10"`
	C11  int `db:"c11"`
	C12  int `db:"c12"`
	C13  int `db:"c13"`
	C14  int `db:"c14"`
	C15  int `db:"c15"`
	C16  int `db:"c16"`
	C17  int `db:"c17"`
	C18  int `db:"c18"`
	C19  int `db:"c19"`
	C20  int `db:"c20"`
	C21  int `db:"c21"`
	C22  int `db:"c22"`
	C23  int `db:"c23"`
	C24  int `db:"c24"`
	C25  int `db:"c25"`
	C26  int `db:"c26"`
	C27  int `db:"c27"`
	C28  int `db:"c28"`
	C29  int `db:"c29"`
	C30  int `db:"c30"`
	C31  int `db:"c31"`
	C32  int `db:"c32"`
	C33  int `db:"c33"`
	C34  int `db:"c34"`
	C35  int `db:"c35"`
	C36  int `db:"c36"`
	C37  int `db:"c37"`
	C38  int `db:"c38"`
	C39  int `db:"c39"`
	C40  int `db:"c40"`
	C41  int `db:"c41"`
	C42  int `db:"c42"`
	C43  int `db:"c43"`
	C44  int `db:"c44"`
	C45  int `db:"c45"`
	C46  int `db:"c46"`
	C47  int `db:"c47"`
	C48  int `db:"c48"`
	C49  int `db:"c49"`
	C50  int `db:"c50"`
	C51  int `db:"c51"`
	C52  int `db:"c52"`
	C53  int `db:"c53"`
	C54  int `db:"c54"`
	C55  int `db:"c55"`
	C56  int `db:"c56"`
	C57  int `db:"c57"`
	C58  int `db:"c58"`
	C59  int `db:"c59"`
	C60  int `db:"c60"`
	C61  int `db:"c61"`
	C62  int `db:"c62"`
	C63  int `db:"c63"`
	C64  int `db:"c64"`
	C65  int `db:"c65"`
	C66  int `db:"c66"`
	C67  int `db:"c67"`
	C68  int `db:"c68"`
	C69  int `db:"c69"`
	C70  int `db:"c70"`
	C71  int `db:"c71"`
	C72  int `db:"c72"`
	C73  int `db:"c73"`
	C74  int `db:"c74"`
	C75  int `db:"c75"`
	C76  int `db:"c76"`
	C77  int `db:"c77"`
	C78  int `db:"c78"`
	C79  int `db:"c79"`
	C80  int `db:"c80"`
	C81  int `db:"c81"`
	C82  int `db:"c82"`
	C83  int `db:"c83"`
	C84  int `db:"c84"`
	C85  int `db:"c85"`
	C86  int `db:"c86"`
	C87  int `db:"c87"`
	C88  int `db:"c88"`
	C89  int `db:"c89"`
	C90  int `db:"c90"`
	C91  int `db:"c91"`
	C92  int `db:"c92"`
	C93  int `db:"c93"`
	C94  int `db:"c94"`
	C95  int `db:"c95"`
	C96  int `db:"c96"`
	C97  int `db:"c97"`
	C98  int `db:"c98"`
	C99  int `db:"c99"`
	C100 int `db:"c100"`
	C101 int `db:"c101"`
	C102 int `db:"c102"`
	C103 int `db:"c103"`
	C104 int `db:"c104"`
	C105 int `db:"c105"`
	C106 int `db:"c106"`
	C107 int `db:"c107"`
	C108 int `db:"c108"`
	C109 int `db:"c109"`
	C110 int `db:"c110"`
	C111 int `db:"c111"`
	C112 int `db:"c112"`
	C113 int `db:"c113"`
	C114 int `db:"c114"`
	C115 int `db:"c115"`
	C116 int `db:"c116"`
	C117 int `db:"c117"`
	C118 int `db:"c118"`
	C119 int `db:"c119"`
	C120 int `db:"c120"`
	C121 int `db:"c121"`
	C122 int `db:"c122"`
	C123 int `db:"c123"`
	C124 int `db:"c124"`
	C125 int `db:"c125"`
	C126 int `db:"c126"`
	C127 int `db:"c127"`
	C128 int `db:"c128"`
	C129 int `db:"c129"`
}

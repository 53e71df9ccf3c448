package gristmill

// Failure says why the whole call cannot be done: a wrong configuration, a missing column. It stops the task. Never
// use it for a bad row: that is a [Reject].
type Failure struct {
	// Code is a short, stable word for machines, such as "bad-config".
	Code string
	// Message is for people and says what to change. Never a row's values.
	Message string
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Reject says why one row is not accepted. The runner keeps it as a dead letter and shows it to operators, so it never
// holds a value of the row.
type Reject struct {
	// Code is a short, stable word for machines, such as "bad-time".
	Code string
	// Field is the column at fault; empty where there is none.
	Field string
	// Message is for people.
	Message string
}

func (r *Reject) Error() string { return r.Code + ": " + r.Message }

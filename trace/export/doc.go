// Package export writes a run in the formats of other tools: Perfetto, Chrome's trace viewer,
// Paraver, Graphviz and CSV.
//
// Every export is made from a run.Run alone, so all show the same numbers as the summary; every
// export says how many records were dropped. Nothing is left out silently: where a format or its
// viewer cannot take everything (a graph of a million nodes), the output says what was joined or
// cut.
package export

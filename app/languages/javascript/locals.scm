(formal_parameters (identifier) @bind)

; A name that nothing declares is the file's from where it is assigned to
(assignment_expression left: (identifier) @bind.global)
(assignment_expression left: (array_pattern (identifier) @bind.global))

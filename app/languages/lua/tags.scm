; Definitions. A function belongs to the table that it is put into.

(function_declaration name: (identifier) @name) @definition.function
(function_declaration name: (dot_index_expression table: (_) @scope field: (identifier) @name)) @definition.function
(function_declaration name: (method_index_expression table: (_) @scope method: (identifier) @name)) @definition.method
(variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition body: (_)? @body)))) @definition.function
(assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @scope field: (identifier) @name))
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(assignment_statement
  (variable_list . name: (bracket_index_expression table: (identifier) @scope field: (string content: (_) @name)))
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(field name: (identifier) @name value: (function_definition body: (_)? @body)) @definition.method
(field "[" name: (string content: (_) @name) value: (function_definition body: (_)? @body)) @definition.method
((chunk [
  (assignment_statement (variable_list name: (identifier) @name))
  (variable_declaration (assignment_statement (variable_list name: (identifier) @name)))
] @definition.constant) (#not-match? @name "^(?![A-Z][A-Z0-9_]+$)"))
(variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @definition.variable
(variable_declaration (variable_list name: (identifier) @name)) @definition.variable
(assignment_statement (variable_list name: (identifier) @name)) @definition.variable
(chunk (assignment_statement (variable_list name: (dot_index_expression table: (identifier) @scope field: (identifier) @name))) @definition.field)

(function_definition) @barrier
(comment) @comment
(ERROR) @error

; Names bound inside a function

(parameters name: (identifier) @local)
(for_generic_clause (variable_list name: (identifier) @local))
(for_numeric_clause name: (identifier) @local)

; References

(function_call name: (identifier) @reference.call)
(function_call name: (dot_index_expression table: (_) @receiver field: (identifier) @reference.call))
(function_call name: (method_index_expression table: (_) @receiver method: (identifier) @reference.call))

[
  (arguments (identifier) @reference.read)
  (expression_list (identifier) @reference.read)
  (field value: (identifier) @reference.read)
  (binary_expression (identifier) @reference.read)
]
[
  (arguments (dot_index_expression table: (_) @receiver field: (identifier) @reference.read))
  (expression_list (dot_index_expression table: (_) @receiver field: (identifier) @reference.read))
  (field value: (dot_index_expression table: (_) @receiver field: (identifier) @reference.read))
]
(dot_index_expression table: (_) @receiver field: (identifier) @reference.constant)

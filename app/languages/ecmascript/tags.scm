; Definitions. A lone declarator stands for its whole declaration; several in one declaration stand for themselves.

(function_declaration name: (_) @name) @definition.function
(generator_function_declaration name: (_) @name) @definition.function
(class_declaration name: (_) @name) @definition.class

(lexical_declaration
  . (variable_declarator
      name: (identifier) @name
      value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)])
  .) @definition.function
(variable_declaration
  . (variable_declarator
      name: (identifier) @name
      value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)])
  .) @definition.function
(variable_declarator
  name: (identifier) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition.function
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @definition.class

(assignment_expression
  left: (member_expression object: [(identifier) (member_expression) (this)] @scope property: (property_identifier) @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition.function
(assignment_expression
  left: (member_expression object: [(identifier) (member_expression)] @scope property: (property_identifier) @name)
  right: (class body: (_) @body)) @definition.class
(assignment_expression
  left: (identifier) @name
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition.function
((assignment_expression
  left: (member_expression) @_exports
  right: (function_expression name: (identifier) @name body: (_) @body)) @definition.function
  (#eq? @_exports "module.exports") (#set! exported))
((assignment_expression
  left: (member_expression object: (_) @_exports property: (property_identifier) @name)
  right: [(string) (number) (object) (array) (new_expression) (template_string) (binary_expression) (regex) (true) (false)]) @definition.variable
  (#any-of? @_exports "exports" "module.exports") (#set! exported))

(method_definition "get" name: [(property_identifier) (private_property_identifier)] @name) @definition.property
(method_definition "set" name: [(property_identifier) (private_property_identifier)] @name) @definition.property
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(pair
  key: (property_identifier) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition.method

(arguments (function_expression name: (identifier) @name body: (_) @body) @definition.function)
(array (function_expression name: (identifier) @name body: (_) @body) @definition.function)
(return_statement (function_expression name: (identifier) @name body: (_) @body) @definition.function)

(assignment_expression left: (member_expression object: (this) property: (property_identifier) @name) (#set! member)) @definition.field
(lexical_declaration . (variable_declarator name: (identifier) @name) .) @definition.variable
(variable_declaration . (variable_declarator name: (identifier) @name) .) @definition.variable
(variable_declarator name: (identifier) @name) @definition.variable

[(arrow_function) (function_expression) (generator_function)] @barrier
(decorator) @leading
(comment) @comment
(ERROR) @error

; What the file exports

(export_statement) @export
(export_statement !source (export_clause (export_specifier name: (identifier) @exported)))
(export_statement value: (identifier) @exported)
(export_statement declaration: (class_declaration name: (_) @exported))
(export_statement declaration: (function_declaration name: (_) @exported))
((assignment_expression left: (member_expression) @_exports right: (object) @export) (#eq? @_exports "module.exports"))
((assignment_expression left: (member_expression) @_exports right: (identifier) @exported) (#eq? @_exports "module.exports"))
((assignment_expression left: (member_expression) @_exports right: (object (shorthand_property_identifier) @exported))
  (#eq? @_exports "module.exports"))
((assignment_expression left: (member_expression) @_exports right: (object (pair value: (identifier) @exported)))
  (#eq? @_exports "module.exports"))
((assignment_expression left: (member_expression object: (_) @_exports property: (property_identifier) @exported))
  (#any-of? @_exports "exports" "module.exports"))
((assignment_expression left: (member_expression object: (_) @_exports) right: (identifier) @exported)
  (#any-of? @_exports "exports" "module.exports"))
((variable_declarator name: (identifier) @exported value: (assignment_expression) @_chain)
  (#not-match? @_chain "^(?!(module\\.)?exports\\s*=)"))

; Names bound inside a function

(arrow_function parameter: (identifier) @local)
(shorthand_property_identifier_pattern) @local
(object_pattern (pair_pattern value: (identifier) @local))
(array_pattern (identifier) @local)
(rest_pattern (identifier) @local)
(assignment_pattern left: (identifier) @local)
(for_in_statement left: (identifier) @local)
(catch_clause parameter: (identifier) @local)

; What names are given

(variable_declarator name: _ @target value: [(call_expression) (new_expression) (identifier) (member_expression) (object) (array) (ternary_expression) (binary_expression) (await_expression) (subscript_expression) (assignment_expression) (parenthesized_expression) (this)] @value) @binding.assign
(assignment_expression left: _ @target right: [(call_expression) (new_expression) (identifier) (member_expression) (object) (array) (ternary_expression) (binary_expression) (await_expression) (subscript_expression) (assignment_expression) (parenthesized_expression) (this)] @value) @binding.assign
(for_in_statement left: _ @target operator: "of" right: [(call_expression) (new_expression) (identifier) (member_expression) (array)] @value) @binding.item
(return_statement [(call_expression) (new_expression) (identifier) (member_expression) (object) (array) (ternary_expression) (binary_expression) (await_expression) (subscript_expression) (assignment_expression) (parenthesized_expression) (this)] @value) @binding.return
(arrow_function body: [(call_expression) (new_expression) (identifier) (member_expression) (object) (array) (ternary_expression) (binary_expression) (await_expression) (subscript_expression) (assignment_expression) (parenthesized_expression) (this)] @value) @binding.return
(yield_expression [(call_expression) (identifier) (member_expression) (array)] @value) @binding.yield
(arguments [(call_expression) (new_expression)] @argument)

; References

(decorator (identifier) @reference.decorate)
(decorator (member_expression object: (_) @receiver property: (property_identifier) @reference.decorate))
(decorator (call_expression function: (identifier) @reference.decorate))
(decorator (call_expression function: (member_expression object: (_) @receiver property: (property_identifier) @reference.decorate)))

(call_expression function: [(call_expression) (subscript_expression) (parenthesized_expression)] @reference.value)
(call_expression function: (super) @reference.call)
(call_expression function: (identifier) @reference.call)
(call_expression function: (member_expression object: (_) @receiver property: [(property_identifier) (private_property_identifier)] @reference.call))
(new_expression constructor: (identifier) @reference.call)
(new_expression constructor: (member_expression object: (_) @receiver property: (property_identifier) @reference.call))

((arguments [(identifier) @reference.read (member_expression object: (_) @receiver property: (property_identifier) @reference.read)])
  (#set! argument))
[
  (pair value: (identifier) @reference.read)
  (object (shorthand_property_identifier) @reference.read)
  (array (identifier) @reference.read)
  (spread_element (identifier) @reference.read)
  (return_statement (identifier) @reference.read)
  (variable_declarator value: (identifier) @reference.read)
  (assignment_expression right: (identifier) @reference.read)
  (arrow_function body: (identifier) @reference.read)
  (assignment_pattern right: (identifier) @reference.read)
  (binary_expression (identifier) @reference.read)
  (ternary_expression (identifier) @reference.read)
  (template_substitution (identifier) @reference.read)
  (export_statement value: (identifier) @reference.read)
]
[
  (pair value: (member_expression object: (_) @receiver property: (property_identifier) @reference.read))
  (array (member_expression object: (_) @receiver property: (property_identifier) @reference.read))
  (return_statement (member_expression object: (_) @receiver property: (property_identifier) @reference.read))
  (variable_declarator value: (member_expression object: (_) @receiver property: (property_identifier) @reference.read))
  (assignment_expression right: (member_expression object: (_) @receiver property: (property_identifier) @reference.read))
]
(member_expression object: (_) @receiver property: (property_identifier) @reference.constant)

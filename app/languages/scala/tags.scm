; Definitions

(package_clause name: (package_identifier) @name body: (_) (#set! exported)) @definition.namespace
(package_clause name: (package_identifier) @name !body (#set! exported) (#set! extends)) @definition.namespace
(package_object name: (_) @name) @definition.module
(class_definition name: (_) @name) @definition.class
(object_definition name: (_) @name) @definition.class
(trait_definition name: (_) @name) @definition.trait
(enum_definition name: (_) @name) @definition.enum
(simple_enum_case name: (_) @name) @definition.enum_member
(full_enum_case name: (_) @name) @definition.enum_member
(type_definition name: (_) @name) @definition.type
(class_parameters (class_parameter ["val" "var"] name: (_) @name) @definition.field)
(class_definition "case" class_parameters: (class_parameters (class_parameter name: (_) @name) @definition.field))
(function_definition name: (_) @name) @definition.function
(function_declaration name: (_) @name) @definition.function
(given_definition name: (_) @name body: (with_template_body)) @definition.class
(given_definition name: (_) @name) @definition.variable
(given_definition !name return_type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]) @definition.impl
[
  (val_definition pattern: (identifier) @name)
  (val_definition pattern: (identifiers (identifier) @name))
  (val_definition pattern: (tuple_pattern (identifier) @name))
  (var_definition pattern: (identifier) @name)
  (var_definition pattern: (identifiers (identifier) @name))
  (val_declaration name: (identifier) @name)
  (var_declaration name: (identifier) @name)
] @definition.variable

(lambda_expression) @barrier
[(comment) (block_comment)] @comment
(ERROR) @error

; Names bound inside a function

(parameter name: (identifier) @local)
(class_parameter name: (identifier) @local)
(binding name: (identifier) @local)
(enumerator . (identifier) @local)
(case_clause pattern: (identifier) @local)
(typed_pattern pattern: (identifier) @local)
(capture_pattern name: (identifier) @local)
(case_class_pattern pattern: (identifier) @local)
(tuple_pattern (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(type_parameters name: (identifier) @local)

; References

(extends_clause [
  (type_identifier) @reference.inherit
  (generic_type type: (type_identifier) @reference.inherit)
  (stable_type_identifier (_) @receiver (type_identifier) @reference.inherit .)
  (generic_type type: (stable_type_identifier (_) @receiver (type_identifier) @reference.inherit .))
])
(annotation name: (type_identifier) @reference.decorate)

(call_expression function: [
  (identifier) @reference.call
  (field_expression value: (_) @receiver field: (identifier) @reference.call)
  (generic_function function: (identifier) @reference.call)
  (generic_function function: (field_expression value: (_) @receiver field: (identifier) @reference.call))
])
(infix_expression left: (_) @receiver operator: (identifier) @reference.call)
(instance_expression [
  (type_identifier) @reference.call
  (generic_type type: (type_identifier) @reference.call)
  (stable_type_identifier (_) @receiver (type_identifier) @reference.call .)
])
(case_class_pattern type: (type_identifier) @reference.type)
(stable_type_identifier (_) @receiver (type_identifier) @reference.type .)
(type_identifier) @reference.type
((field_expression value: (identifier) @reference.type) (#not-match? @reference.type "^(?![A-Z])"))

[
  (arguments (identifier) @reference.read)
  (infix_expression right: (identifier) @reference.read)
  (infix_expression left: (identifier) @reference.read)
  (val_definition value: (identifier) @reference.read)
  (var_definition value: (identifier) @reference.read)
  (function_definition body: (identifier) @reference.read)
  (assignment_expression right: (identifier) @reference.read)
  (tuple_expression (identifier) @reference.read)
  (block (identifier) @reference.read .)
  (match_expression value: (identifier) @reference.read)
]
(field_expression value: (_) @receiver field: (identifier) @reference.constant)

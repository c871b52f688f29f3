; Definitions

(package_header (identifier) @name (#set! exported) (#set! extends)) @definition.namespace
(class_declaration "interface" (type_identifier) @name [(class_body) (enum_class_body)]? @body) @definition.interface
(class_declaration "enum" (type_identifier) @name (enum_class_body)? @body) @definition.enum
(class_declaration (type_identifier) @name (class_body)? @body) @definition.class
(object_declaration (type_identifier) @name (class_body)? @body) @definition.class
(companion_object (type_identifier) @name (class_body)? @body) @definition.class
(enum_entry (simple_identifier) @name (class_body)? @body) @definition.enum_member
(type_alias (type_identifier) @name) @definition.type
(primary_constructor (class_parameter (binding_pattern_kind) (simple_identifier) @name) @definition.property)
(secondary_constructor "constructor" @name (_)? . (statements)? @body) @definition.constructor
(class_body (function_declaration (simple_identifier) @name (function_body)? @body) @definition.method)
(enum_class_body (function_declaration (simple_identifier) @name (function_body)? @body) @definition.method)
(function_declaration (simple_identifier) @name (function_body)? @body) @definition.function
((property_declaration (modifiers (property_modifier) @_const) (variable_declaration (simple_identifier) @name)) @definition.constant
  (#eq? @_const "const"))
(class_body (property_declaration (variable_declaration (simple_identifier) @name)) @definition.property)
(enum_class_body (property_declaration (variable_declaration (simple_identifier) @name)) @definition.property)
(property_declaration (variable_declaration (simple_identifier) @name)) @definition.variable
(property_declaration (multi_variable_declaration (variable_declaration (simple_identifier) @name))) @definition.variable

[(anonymous_function) (lambda_literal)] @barrier
[(line_comment) (multiline_comment)] @comment
(ERROR) @error

; Names bound inside a function

(parameter (simple_identifier) @local)
(lambda_parameters (variable_declaration (simple_identifier) @local))
(lambda_parameters (multi_variable_declaration (variable_declaration (simple_identifier) @local)))
(for_statement (variable_declaration (simple_identifier) @local))
(for_statement (multi_variable_declaration (variable_declaration (simple_identifier) @local)))
(catch_block (simple_identifier) @local)
(type_parameter (type_identifier) @local)

; References

(delegation_specifier [
  (user_type . (type_identifier) @reference.inherit .)
  (user_type . (type_identifier) @reference.inherit . (type_arguments) .)
  (user_type (type_identifier) @receiver . (type_identifier) @reference.inherit .)
  (constructor_invocation (user_type . (type_identifier) @reference.inherit .))
  (constructor_invocation (user_type . (type_identifier) @reference.inherit . (type_arguments) .))
  (constructor_invocation (user_type (type_identifier) @receiver . (type_identifier) @reference.inherit .))
  (explicit_delegation (user_type . (type_identifier) @reference.inherit))
])

(annotation (user_type . (type_identifier) @reference.decorate .))
(annotation (constructor_invocation (user_type . (type_identifier) @reference.decorate .)))

(call_expression . (simple_identifier) @reference.call)
(call_expression . (navigation_expression (_) @receiver (navigation_suffix (simple_identifier) @reference.call .) .))
(infix_expression (_) @receiver . (simple_identifier) @reference.call)
(callable_reference (simple_identifier) @reference.read . (#set! always))
(user_type (type_identifier) @receiver . (type_identifier) @reference.type .)
(user_type (type_identifier) @reference.type)

[
  (value_argument (simple_identifier) @reference.read)
  (property_declaration (simple_identifier) @reference.read)
  (assignment (simple_identifier) @reference.read)
  (jump_expression (simple_identifier) @reference.read)
  (function_body (simple_identifier) @reference.read)
  (equality_expression (simple_identifier) @reference.read)
  (comparison_expression (simple_identifier) @reference.read)
  (additive_expression (simple_identifier) @reference.read)
  (multiplicative_expression (simple_identifier) @reference.read)
  (elvis_expression (simple_identifier) @reference.read)
]
(navigation_expression (_) @receiver (navigation_suffix (simple_identifier) @reference.constant .) .)

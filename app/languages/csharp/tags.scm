; Definitions

(namespace_declaration name: (_) @name (#set! exported)) @definition.namespace
(file_scoped_namespace_declaration name: (_) @name (#set! exported) (#set! extends)) @definition.namespace
(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(record_declaration (parameter_list (parameter name: (identifier) @name) @definition.property) (#set! exported))
(struct_declaration name: (identifier) @name) @definition.struct
(interface_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(enum_member_declaration name: (identifier) @name) @definition.enum_member
(delegate_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.constructor
(operator_declaration operator: _ @name) @definition.method
(local_function_statement name: (identifier) @name) @definition.function
(property_declaration name: (identifier) @name accessors: (_) @body) @definition.property
(property_declaration name: (identifier) @name value: (_) @body) @definition.property
(event_declaration name: (identifier) @name) @definition.property
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field
((field_declaration (modifier) @_const (variable_declaration (variable_declarator name: (identifier) @name))) @definition.constant
  (#eq? @_const "const"))
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field

(comment) @comment
(ERROR) @error

; Names bound inside a method

(parameter name: (identifier) @local)
(local_declaration_statement (variable_declaration (variable_declarator name: (identifier) @local)))
(foreach_statement left: (identifier) @local)
(implicit_parameter) @local
(lambda_expression parameters: (identifier) @local)
(catch_declaration name: (identifier) @local)
(declaration_pattern name: (identifier) @local)
(type_parameter name: (identifier) @local)

; References

(base_list [
  (identifier) @reference.inherit
  (generic_name . (identifier) @reference.inherit)
  (qualified_name qualifier: (_) @receiver name: [(identifier) @reference.inherit (generic_name . (identifier) @reference.inherit)])
  (primary_constructor_base_type type: (identifier) @reference.inherit)
  (primary_constructor_base_type type: (generic_name . (identifier) @reference.inherit))
])

(attribute name: [(identifier) @reference.decorate (qualified_name qualifier: (_) @receiver name: (identifier) @reference.decorate)])

(invocation_expression function: [
  (identifier) @reference.call
  (generic_name . (identifier) @reference.call)
  (member_access_expression expression: _ @receiver name: [(identifier) @reference.call (generic_name . (identifier) @reference.call)])
  (conditional_access_expression
    condition: _ @receiver
    (member_binding_expression name: [(identifier) @reference.call (generic_name . (identifier) @reference.call)]))
])
(object_creation_expression type: [
  (identifier) @reference.call
  (generic_name . (identifier) @reference.call)
  (qualified_name qualifier: (_) @receiver name: [(identifier) @reference.call (generic_name . (identifier) @reference.call)])
])

[
  (parameter type: (identifier) @reference.type)
  (variable_declaration type: (identifier) @reference.type)
  (property_declaration type: (identifier) @reference.type)
  (method_declaration returns: (identifier) @reference.type)
  (local_function_statement type: (identifier) @reference.type)
  (delegate_declaration type: (identifier) @reference.type)
  (type_argument_list (identifier) @reference.type)
  (nullable_type (identifier) @reference.type)
  (array_type type: (identifier) @reference.type)
  (cast_expression type: (identifier) @reference.type)
  (as_expression right: (identifier) @reference.type)
  (is_expression right: (identifier) @reference.type)
  (declaration_pattern type: (identifier) @reference.type)
  (typeof_expression type: (identifier) @reference.type)
  (foreach_statement type: (identifier) @reference.type)
  (catch_declaration type: (identifier) @reference.type)
  (type_parameter_constraint type: (identifier) @reference.type)
  (generic_name . (identifier) @reference.type)
]
[
  (parameter type: (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type))
  (variable_declaration type: (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type))
  (property_declaration type: (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type))
  (method_declaration returns: (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type))
  (type_argument_list (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type))
]

[
  (argument (identifier) @reference.read)
  (assignment_expression right: (identifier) @reference.read)
  (variable_declarator (identifier) @reference.read)
  (return_statement (identifier) @reference.read)
  (arrow_expression_clause (identifier) @reference.read)
  (initializer_expression (identifier) @reference.read)
  (binary_expression (identifier) @reference.read)
  (attribute_argument (identifier) @reference.read)
]
[
  (argument (member_access_expression expression: _ @receiver name: (identifier) @reference.read))
  (assignment_expression right: (member_access_expression expression: _ @receiver name: (identifier) @reference.read))
]

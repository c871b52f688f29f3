; Definitions

(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @definition.field) (#set! exported))
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(enum_constant name: (identifier) @name) @definition.enum_member
(method_declaration name: (identifier) @name) @definition.method
(annotation_type_element_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.constructor
(compact_constructor_declaration name: (identifier) @name) @definition.constructor
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.constant

[(line_comment) (block_comment)] @comment
(ERROR) @error

; Names bound inside a method

(formal_parameter name: (identifier) @local)
(spread_parameter (variable_declarator name: (identifier) @local))
(local_variable_declaration declarator: (variable_declarator name: (identifier) @local))
(lambda_expression parameters: (identifier) @local)
(inferred_parameters (identifier) @local)
(catch_formal_parameter name: (identifier) @local)
(enhanced_for_statement name: (identifier) @local)
(resource name: (identifier) @local)
(type_parameter (type_identifier) @local)

; References

(superclass [
  (type_identifier) @reference.inherit
  (generic_type (type_identifier) @reference.inherit)
  (scoped_type_identifier (_) @receiver (type_identifier) @reference.inherit .)
])
(type_list [
  (type_identifier) @reference.inherit
  (generic_type (type_identifier) @reference.inherit)
  (scoped_type_identifier (_) @receiver (type_identifier) @reference.inherit .)
])

(marker_annotation name: [(identifier) @reference.decorate (scoped_identifier scope: (_) @receiver name: (identifier) @reference.decorate)])
(annotation name: [(identifier) @reference.decorate (scoped_identifier scope: (_) @receiver name: (identifier) @reference.decorate)])

(method_invocation !object name: (identifier) @reference.call)
(method_invocation object: (_) @receiver name: (identifier) @reference.call)
(object_creation_expression type: [
  (type_identifier) @reference.call
  (generic_type (type_identifier) @reference.call)
  (scoped_type_identifier (_) @receiver (type_identifier) @reference.call .)
])

(scoped_type_identifier (_) @receiver (type_identifier) @reference.type .)
(type_identifier) @reference.type

(method_reference (_) @receiver (identifier) @reference.read . (#set! always))
[
  (argument_list (identifier) @reference.read)
  (assignment_expression right: (identifier) @reference.read)
  (variable_declarator value: (identifier) @reference.read)
  (return_statement (identifier) @reference.read)
  (array_initializer (identifier) @reference.read)
  (binary_expression (identifier) @reference.read)
  (element_value_pair value: (identifier) @reference.read)
  (annotation_argument_list (identifier) @reference.read)
]
(field_access object: (_) @receiver field: (identifier) @reference.constant)

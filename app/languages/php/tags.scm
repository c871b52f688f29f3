; Definitions

(namespace_definition name: (namespace_name) @name (#set! exported) (#set! extends)) @definition.namespace
(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(enum_case name: (name) @name) @definition.enum_member
(function_definition name: (name) @name) @definition.function
(method_declaration name: (name) @name) @definition.method
(const_declaration (const_element (name) @name)) @definition.constant
(property_declaration (property_element name: (variable_name (name) @name))) @definition.field
((function_call_expression function: (name) @_define arguments: (arguments . (argument (string (string_content) @name)))) @definition.constant
  (#eq? @_define "define"))

[(anonymous_function) (arrow_function)] @barrier
(comment) @comment
(ERROR) @error

; References

(base_clause [(name) @reference.inherit (qualified_name prefix: (_) @receiver (name) @reference.inherit)])
(class_interface_clause [(name) @reference.inherit (qualified_name prefix: (_) @receiver (name) @reference.inherit)])
(use_declaration [(name) @reference.inherit (qualified_name prefix: (_) @receiver (name) @reference.inherit)])

(attribute . [(name) @reference.decorate (qualified_name prefix: (_) @receiver (name) @reference.decorate)])

(function_call_expression function: [(name) @reference.call (qualified_name prefix: (_) @receiver (name) @reference.call)])
(member_call_expression object: (_) @receiver name: (name) @reference.call)
(nullsafe_member_call_expression object: (_) @receiver name: (name) @reference.call)
(scoped_call_expression scope: (_) @receiver name: (name) @reference.call)
(object_creation_expression [(name) @reference.call (qualified_name prefix: (_) @receiver (name) @reference.call)])

(named_type [(name) @reference.type (qualified_name prefix: (_) @receiver (name) @reference.type)])
(binary_expression "instanceof" right: [(name) @reference.type (qualified_name prefix: (_) @receiver (name) @reference.type)])
(class_constant_access_expression . (name) @reference.type)
(scoped_call_expression scope: (name) @reference.type)

(class_constant_access_expression . (_) @receiver (name) @reference.constant .)
[
  (argument (name) @reference.read)
  (assignment_expression right: (name) @reference.read)
  (return_statement (name) @reference.read)
  (array_element_initializer (name) @reference.read)
  (binary_expression (name) @reference.read)
]

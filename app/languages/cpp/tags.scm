; Definitions. A template reaches from its parameter list; a name out of line brings its scope along.

(namespace_definition name: (_) @name (#set! exported)) @definition.namespace

(template_declaration (class_specifier name: [(type_identifier) @name (template_type name: (type_identifier) @name)] body: (_) @body)) @definition.class
(template_declaration (struct_specifier name: [(type_identifier) @name (template_type name: (type_identifier) @name)] body: (_) @body)) @definition.struct
(template_declaration (alias_declaration name: (type_identifier) @name)) @definition.type
(template_declaration (concept_definition name: (identifier) @name)) @definition.type
(class_specifier name: [(type_identifier) @name (template_type name: (type_identifier) @name)] body: (_)) @definition.class
(struct_specifier name: (template_type name: (type_identifier) @name) body: (_)) @definition.struct
(class_specifier name: (qualified_identifier) @name body: (_) (#set! qualified)) @definition.class
(struct_specifier name: (qualified_identifier) @name body: (_) (#set! qualified)) @definition.struct
(alias_declaration name: (type_identifier) @name) @definition.type

(template_declaration (function_definition
  declarator: [
    (function_declarator declarator: [(identifier) (field_identifier) (operator_name) (qualified_identifier)] @name)
    (pointer_declarator declarator: (function_declarator declarator: [(identifier) (field_identifier) (operator_name) (qualified_identifier)] @name))
    (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (operator_name) (qualified_identifier)] @name))
  ]
  body: (_) @body) (#set! qualified)) @definition.function
(function_definition
  declarator: [
    (function_declarator declarator: [(identifier) (field_identifier) (operator_name) (destructor_name) (qualified_identifier)] @name)
    (pointer_declarator declarator: (function_declarator declarator: [(identifier) (field_identifier) (operator_name) (qualified_identifier)] @name))
    (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (operator_name) (qualified_identifier)] @name))
  ]
  (#set! qualified)) @definition.function
(declaration
  declarator: [
    (function_declarator declarator: [(identifier) (operator_name) (destructor_name)] @name)
    (reference_declarator (function_declarator declarator: [(identifier) (operator_name)] @name))
  ]
  (#set! prototype)) @definition.function
(field_declaration
  declarator: [
    (function_declarator declarator: [(field_identifier) (operator_name) (destructor_name)] @name)
    (pointer_declarator declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name))
    (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name))
  ]
  (#set! prototype)) @definition.function
(field_declaration declarator: (reference_declarator (field_identifier) @name)) @definition.field
(declaration declarator: (init_declarator declarator: (qualified_identifier) @name) (#set! qualified)) @definition.variable

(access_specifier) @access
(lambda_expression) @barrier

; Names bound inside a function

(parameter_declaration declarator: (reference_declarator (identifier) @local))
(optional_parameter_declaration declarator: (identifier) @local)
(for_range_loop declarator: [(identifier) @local (reference_declarator (identifier) @local)])
(declaration declarator: (init_declarator declarator: (reference_declarator (identifier) @local)))
(type_parameter_declaration (type_identifier) @local)

; References

(base_class_clause [
  (type_identifier) @reference.inherit
  (template_type name: (type_identifier) @reference.inherit)
])
(base_class_clause (qualified_identifier) @reference.inherit (#set! qualified))

(call_expression function: (qualified_identifier) @reference.call (#set! qualified))
(call_expression function: (template_function name: (identifier) @reference.call))
(call_expression function: (field_expression argument: (_) @receiver field: (template_method name: (field_identifier) @reference.call)))
(new_expression type: [
  (type_identifier) @reference.call
  (template_type name: (type_identifier) @reference.call)
])
(compound_literal_expression type: [
  (type_identifier) @reference.call
  (template_type name: (type_identifier) @reference.call)
])

(new_expression type: (qualified_identifier) @reference.call (#set! qualified))
(compound_literal_expression type: (qualified_identifier) @reference.call (#set! qualified))

((qualified_identifier name: (qualified_identifier name: (qualified_identifier name: [(type_identifier) (template_type)]))) @reference.type
  (#set! qualified))
((qualified_identifier name: (qualified_identifier name: [(type_identifier) (template_type)])) @reference.type (#set! qualified))
(qualified_identifier scope: (_) @receiver name: (type_identifier) @reference.type)
(qualified_identifier scope: (_) @receiver name: (template_type name: (type_identifier) @reference.type))

(optional_parameter_declaration default_value: (identifier) @reference.read)

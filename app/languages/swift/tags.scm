; Definitions. An extension may add what a protocol asks for.

(class_declaration declaration_kind: ["class" "actor"] name: (type_identifier) @name) @definition.class
(class_declaration declaration_kind: "struct" name: (type_identifier) @name) @definition.struct
(class_declaration declaration_kind: "enum" name: (type_identifier) @name) @definition.enum
(class_declaration declaration_kind: "extension" name: (user_type (type_identifier) @name .)) @definition.impl
(class_declaration declaration_kind: "extension" name: (user_type (type_identifier) @name . (type_arguments) .)) @definition.impl
(protocol_declaration name: (type_identifier) @name) @definition.interface
(typealias_declaration name: (type_identifier) @name) @definition.type
(associatedtype_declaration name: (type_identifier) @name) @definition.type
(enum_entry name: (simple_identifier) @name) @definition.enum_member
(init_declaration name: "init" @name) @definition.method
(class_body (function_declaration name: [(simple_identifier) (custom_operator) "==" "!=" "<" ">" "<=" ">=" "+" "-" "*" "/" "%" "+=" "-=" "!" "~" "&" "|" "^"] @name) @definition.method)
(enum_class_body (function_declaration name: [(simple_identifier) (custom_operator) "==" "!=" "<" ">" "<=" ">=" "+" "-" "*" "/" "%" "+=" "-=" "!" "~" "&" "|" "^"] @name) @definition.method)
(function_declaration name: [(simple_identifier) (custom_operator) "==" "!=" "<" ">" "<=" ">=" "+" "-" "*" "/" "%" "+=" "-=" "!" "~" "&" "|" "^"] @name) @definition.function
(protocol_function_declaration name: [(simple_identifier) (custom_operator) "==" "<" "+" "-"] @name) @definition.method
(macro_declaration (simple_identifier) @name) @definition.macro
(subscript_declaration "subscript" @name (computed_property)? @body) @definition.method
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name) computed_value: (_) @body) @definition.property
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.property
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name) (willset_didset_block)? @body) @definition.field)
(enum_class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name) (willset_didset_block)? @body) @definition.field)
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.variable
(property_declaration name: (pattern (pattern bound_identifier: (simple_identifier) @name))) @definition.variable

(lambda_literal) @barrier
[(comment) (multiline_comment)] @comment
(ERROR) @error

; Names bound inside a function

(parameter name: (simple_identifier) @local)
(lambda_parameter name: (simple_identifier) @local)
(for_statement item: (pattern bound_identifier: (simple_identifier) @local))
(if_statement bound_identifier: (simple_identifier) @local)
(guard_statement bound_identifier: (simple_identifier) @local)
(while_statement bound_identifier: (simple_identifier) @local)
(catch_block (pattern bound_identifier: (simple_identifier) @local))
(type_parameter (type_identifier) @local)

; References

(inheritance_specifier inherits_from: (user_type . (type_identifier) @reference.inherit .))
(inheritance_specifier inherits_from: (user_type . (type_identifier) @reference.inherit . (type_arguments) .))
(inheritance_specifier inherits_from: (user_type (type_identifier) @receiver . (type_identifier) @reference.inherit .))

(attribute (user_type (type_identifier) @reference.decorate))

(call_expression . (simple_identifier) @reference.call)
(call_expression . (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @reference.call)))
(call_expression . (prefix_expression target: (simple_identifier) @reference.call))
(macro_invocation (simple_identifier) @reference.call)

(user_type (type_identifier) @receiver . (type_identifier) @reference.type)
(user_type (type_identifier) @reference.type)
((navigation_expression target: (simple_identifier) @reference.type) (#not-match? @reference.type "^(?![A-Z])"))

[
  (value_argument value: (simple_identifier) @reference.read)
  (property_declaration value: (simple_identifier) @reference.read)
  (assignment result: (simple_identifier) @reference.read)
  (control_transfer_statement result: (simple_identifier) @reference.read)
  (statements (simple_identifier) @reference.read)
  (array_literal element: (simple_identifier) @reference.read)
  (equality_expression (simple_identifier) @reference.read)
  (comparison_expression (simple_identifier) @reference.read)
  (additive_expression (simple_identifier) @reference.read)
  (multiplicative_expression (simple_identifier) @reference.read)
]
(navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @reference.constant))

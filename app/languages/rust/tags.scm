; Definitions. An implementation of a trait is as visible as the trait.

(function_item name: (identifier) @name) @definition.function
(function_signature_item name: (identifier) @name) @definition.function
(struct_item name: (type_identifier) @name) @definition.struct
(enum_item name: (type_identifier) @name) @definition.enum
(enum_variant name: (identifier) @name) @definition.enum_member
(union_item name: (type_identifier) @name) @definition.union
(field_declaration name: (field_identifier) @name) @definition.field
(trait_item name: (type_identifier) @name) @definition.trait
(type_item name: (type_identifier) @name) @definition.type
(associated_type name: (type_identifier) @name) @definition.type
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.variable
(macro_definition name: (identifier) @name) @definition.macro
(mod_item name: (identifier) @name body: (_)) @definition.module
(impl_item
  trait: (_)
  type: [
    (type_identifier) @name
    (generic_type type: (type_identifier) @name)
    (scoped_type_identifier name: (type_identifier) @name)
    (generic_type type: (scoped_type_identifier name: (type_identifier) @name))
    (reference_type type: (type_identifier) @name)
    (primitive_type) @name
  ]
  (#set! exported) (#set! members_exported)) @definition.impl
(impl_item
  type: [
    (type_identifier) @name
    (generic_type type: (type_identifier) @name)
    (scoped_type_identifier name: (type_identifier) @name)
  ]
  (#set! exported)) @definition.impl

(attribute_item) @leading
[(line_comment) (block_comment)] @comment
(ERROR) @error

; Names bound inside a function

(parameter pattern: (identifier) @local)
(let_declaration pattern: (identifier) @local)
(let_condition pattern: (identifier) @local)
(closure_parameters (identifier) @local)
(for_expression pattern: (identifier) @local)
(tuple_pattern (identifier) @local)
(tuple_struct_pattern type: (_) (identifier) @local)
(field_pattern name: (shorthand_field_identifier) @local)
(match_pattern (identifier) @local)
(captured_pattern . (identifier) @local)
(type_parameter name: (type_identifier) @local)

; References

(impl_item trait: [
  (type_identifier) @reference.inherit
  (generic_type type: (type_identifier) @reference.inherit)
  (scoped_type_identifier path: (_) @receiver name: (type_identifier) @reference.inherit)
  (generic_type type: (scoped_type_identifier path: (_) @receiver name: (type_identifier) @reference.inherit))
])
(trait_item bounds: (trait_bounds [
  (type_identifier) @reference.inherit
  (generic_type type: (type_identifier) @reference.inherit)
  (scoped_type_identifier path: (_) @receiver name: (type_identifier) @reference.inherit)
]))
((attribute (identifier) @_derive arguments: (token_tree (identifier) @receiver . "::" . (identifier) @reference.inherit))
  (#eq? @_derive "derive"))
((attribute (identifier) @_derive arguments: (token_tree (identifier) @reference.inherit . ["," ")"])) (#eq? @_derive "derive"))

(attribute . (identifier) @reference.decorate)
(attribute . (scoped_identifier path: (_) @receiver name: (identifier) @reference.decorate))

(call_expression function: [
  (identifier) @reference.call
  (field_expression value: (_) @receiver field: (field_identifier) @reference.call)
  (scoped_identifier path: (_) @receiver name: (identifier) @reference.call)
  (generic_function function: (identifier) @reference.call)
  (generic_function function: (field_expression value: (_) @receiver field: (field_identifier) @reference.call))
  (generic_function function: (scoped_identifier path: (_) @receiver name: (identifier) @reference.call))
])
(struct_expression name: [
  (type_identifier) @reference.call
  (scoped_type_identifier path: (_) @receiver name: (type_identifier) @reference.call)
  (generic_type_with_turbofish type: (type_identifier) @reference.call)
])
(macro_invocation macro: [
  (identifier) @reference.call
  (scoped_identifier path: (_) @receiver name: (identifier) @reference.call)
])
; Arguments of a macro are tokens: what looks like a call is taken for one.
(token_tree (_) @receiver . ["." "::"] . (identifier) @reference.call . (token_tree "("))
(token_tree (identifier) @reference.call . (token_tree "("))

(scoped_type_identifier path: (_) @receiver name: (type_identifier) @reference.type)
(type_identifier) @reference.type
((scoped_identifier path: (identifier) @reference.type) (#not-match? @reference.type "^(?![A-Z])"))

[
  (arguments (identifier) @reference.read)
  (field_initializer value: (identifier) @reference.read)
  (shorthand_field_initializer (identifier) @reference.read)
  (array_expression (identifier) @reference.read)
  (tuple_expression (identifier) @reference.read)
  (let_declaration value: (identifier) @reference.read)
  (const_item value: (identifier) @reference.read)
  (static_item value: (identifier) @reference.read)
  (binary_expression (identifier) @reference.read)
  (reference_expression value: (identifier) @reference.read)
  (block (identifier) @reference.read .)
]
(arguments (scoped_identifier path: (_) @receiver name: (identifier) @reference.read))
(scoped_identifier path: (_) @receiver name: (identifier) @reference.constant)

; Definitions. A type signature is the first clause of what it declares.

(header module: (module) @name (#set! exported) (#set! extends)) @definition.namespace

(declarations (signature name: [(variable) @name (prefix_id (operator) @name)]) @definition.function (#set! clauses))
(declarations (signature names: (binding_list name: [(variable) @name (prefix_id (operator) @name)])) @definition.function (#set! clauses))
(declarations (function name: [(variable) @name (prefix_id (operator) @name)] match: (_) @body) @definition.function (#set! clauses))
(declarations (function (infix operator: [(operator) @name (infix_id (variable) @name)]) match: (_) @body) @definition.function (#set! clauses))
(declarations (bind name: [(variable) @name (prefix_id (operator) @name)] match: (_) @body) @definition.function (#set! clauses))
(class_declarations (signature name: [(variable) @name (prefix_id (operator) @name)]) @definition.method (#set! clauses))
(class_declarations (signature names: (binding_list name: [(variable) @name (prefix_id (operator) @name)])) @definition.method (#set! clauses))
(class_declarations (function name: [(variable) @name (prefix_id (operator) @name)] match: (_) @body) @definition.method (#set! clauses))
(class_declarations (function (infix operator: [(operator) @name (infix_id (variable) @name)]) match: (_) @body) @definition.method (#set! clauses))
(class_declarations (bind name: [(variable) @name (prefix_id (operator) @name)] match: (_) @body) @definition.method (#set! clauses))
(instance_declarations (signature name: [(variable) @name (prefix_id (operator) @name)]) @definition.method (#set! clauses))
(instance_declarations (signature names: (binding_list name: [(variable) @name (prefix_id (operator) @name)])) @definition.method (#set! clauses))
(instance_declarations (function name: [(variable) @name (prefix_id (operator) @name)] match: (_) @body) @definition.method (#set! clauses))
(instance_declarations (function (infix operator: [(operator) @name (infix_id (variable) @name)]) match: (_) @body) @definition.method (#set! clauses))
(instance_declarations (bind name: [(variable) @name (prefix_id (operator) @name)] match: (_) @body) @definition.method (#set! clauses))
(local_binds (function name: [(variable) @name (prefix_id (operator) @name)] match: (_) @body) @definition.function (#set! clauses))
(local_binds (function (infix operator: [(operator) @name (infix_id (variable) @name)]) match: (_) @body) @definition.function (#set! clauses))
(declarations (bind pattern: (_ (variable) @name)) @definition.variable)
(foreign_import signature: (signature name: (variable) @name)) @definition.function
(pattern_synonym (equation synonym: (apply function: (constructor) @name))) @definition.function

(data_type name: (name) @name "where" @body) @definition.type
(data_type name: (name) @name constructors: (_) @body) @definition.type
(data_type name: (name) @name) @definition.type
(newtype name: (name) @name constructor: (_) @body) @definition.type
(type_synomym name: (name) @name) @definition.type
(type_family name: (name) @name "where" @body) @definition.type
(type_family name: (name) @name) @definition.type
(data_family name: (name) @name) @definition.type
(class name: (name) @name "where" @body) @definition.trait
(class name: (name) @name) @definition.trait
(instance patterns: (type_patterns . [
    (name) @name
    (list) @name
    (parens type: (apply constructor: (name) @name))
    (parens type: (apply constructor: (apply constructor: (name) @name)))
  ] )
  "where" @body (#set! exported) (#set! members_exported)) @definition.impl
(instance patterns: (type_patterns . [
    (name) @name
    (list) @name
    (parens type: (apply constructor: (name) @name))
    (parens type: (apply constructor: (apply constructor: (name) @name)))
  ] )
  (#set! exported) (#set! members_exported)) @definition.impl

(data_constructor (record name: (constructor) @name)) @definition.enum_member
(data_constructor (prefix name: (constructor) @name)) @definition.enum_member
(data_constructor (infix operator: (constructor_operator) @name)) @definition.enum_member
(newtype_constructor name: (constructor) @name) @definition.enum_member
(gadt_constructor name: (constructor) @name) @definition.enum_member
(field name: (field_name (variable) @name)) @definition.field

(lambda) @barrier
[(comment) (haddock)] @comment
(ERROR) @error

; What the module exports

(exports) @export
(export variable: (variable) @exported)
(export type: (name) @exported)
(export operator: (prefix_id (operator) @exported))
(export variable: (variable) @own)
(export type: (name) @own)
(children element: (variable) @own)
(children element: (constructor) @own)

; Names bound inside a function

(patterns (variable) @local)
(patterns (_ (variable) @local))
(patterns (_ (_ (variable) @local)))
(parens pattern: (apply argument: (variable) @local))
(parens pattern: (apply function: (apply argument: (variable) @local)))
(parens pattern: (apply function: (apply function: (apply argument: (variable) @local))))
(infix left_operand: (variable) @local operator: (constructor_operator))
(function (infix left_operand: (variable) @local))
(function (infix right_operand: (variable) @local))
(local_binds (bind name: (variable) @local))
(bind pattern: (variable) @local)
(bind pattern: (_ (variable) @local))
(generator pattern: (variable) @local)
(alternative pattern: (variable) @local)
(alternative pattern: (_ (variable) @local))

; References

(instance name: (name) @reference.inherit)
(deriving_instance name: (name) @reference.inherit)
(deriving classes: (name) @reference.inherit)
(deriving classes: (tuple (name) @reference.inherit))
(class context: (context context: (apply constructor: (name) @reference.inherit)))
(class context: (context context: (parens (apply constructor: (name) @reference.inherit))))

(apply function: (variable) @reference.call)
(apply function: (constructor) @reference.call)
(apply function: (qualified module: (module) @receiver id: (variable) @reference.call))
(infix operator: (operator) @reference.call)
(infix operator: (infix_id (variable) @reference.call))
(record . (constructor) @reference.call)

(qualified module: (module) @receiver id: [(name) (constructor)] @reference.type)
(name) @reference.type
(constructor) @reference.type

[
  (apply function: (_) argument: (variable) @reference.read)
  (infix left_operand: (variable) @reference.read operator: [(operator) (infix_id)])
  (infix operator: [(operator) (infix_id)] right_operand: (variable) @reference.read)
  (infix operator: (constructor_operator) right_operand: (variable) @reference.read)
  (match expression: (variable) @reference.read)
  (exp . (variable) @reference.read)
  (bind expression: (variable) @reference.read)
  (tuple element: (variable) @reference.read)
  (list element: (variable) @reference.read)
  (parens expression: (variable) @reference.read)
  (field_update field: (_) expression: (variable) @reference.read)
  (left_section (variable) @reference.read)
  (right_section (variable) @reference.read)
  (guards guard: (boolean (variable) @reference.read))
  (conditional (variable) @reference.read)
]
(qualified module: (module) @receiver id: (variable) @reference.read)

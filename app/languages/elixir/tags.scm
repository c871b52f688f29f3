; Definitions are calls. A function may have several clauses; its documentation stands in an attribute before it.

((call target: (identifier) @_define (arguments . [(alias) (dot)] @name) (do_block) @body) @definition.module
  (#eq? @_define "defmodule") (#set! qualified))
((call target: (identifier) @_define (arguments . (alias) @name) (do_block) @body) @definition.interface
  (#eq? @_define "defprotocol") (#set! qualified))
((call
    target: (identifier) @_define
    (arguments . (alias) (keywords . (pair key: (keyword) @_for value: (alias) @name)))
    (do_block) @body) @definition.impl
  (#eq? @_define "defimpl") (#not-match? @_for "^(?!for:)") (#set! qualified) (#set! exported) (#set! members_exported))
((call target: (identifier) @_define (arguments . (alias) @name .) (do_block) @body) @definition.impl
  (#eq? @_define "defimpl") (#set! qualified) (#set! exported) (#set! members_exported))

((call target: (identifier) @_define (arguments . [
    (call target: (identifier) @name)
    (identifier) @name
    (binary_operator left: (call target: (identifier) @name) operator: "when")
    (binary_operator left: (identifier) @name operator: "when")
  ]) (do_block) @body) @definition.function
  (#any-of? @_define "def" "defp" "defdelegate") (#set! clauses))
((call target: (identifier) @_define (arguments . [
    (call target: (identifier) @name)
    (identifier) @name
    (binary_operator left: (call target: (identifier) @name) operator: "when")
    (binary_operator left: (identifier) @name operator: "when")
  ] (keywords)? @body)) @definition.function
  (#any-of? @_define "def" "defp" "defdelegate") (#set! clauses))
((call target: (identifier) @_define (arguments . [
    (call target: (identifier) @name)
    (identifier) @name
    (binary_operator left: (call target: (identifier) @name) operator: "when")
    (binary_operator left: (identifier) @name operator: "when")
  ]) (do_block) @body) @definition.macro
  (#any-of? @_define "defmacro" "defmacrop" "defguard" "defguardp") (#set! clauses))
((call target: (identifier) @_define (arguments . [
    (call target: (identifier) @name)
    (identifier) @name
    (binary_operator left: (call target: (identifier) @name) operator: "when")
    (binary_operator left: (identifier) @name operator: "when")
  ] (keywords)? @body)) @definition.macro
  (#any-of? @_define "defmacro" "defmacrop" "defguard" "defguardp") (#set! clauses))
((call target: (identifier) @_define (arguments . (binary_operator operator: ["+" "-" "*" "/" "<>" "++" "--" "|>" "<<<" ">>>" "<<~" "~>>" "<~" "~>" "<~>" "+++" "---" "&&&" "|||" "^^^" "==" "!=" "=~" "<" ">" "<=" ">=" "&&" "||" ".." "in"] @name))) @definition.function
  (#any-of? @_define "def" "defp") (#set! clauses))
((call target: (identifier) @_define (arguments . (binary_operator operator: ["+" "-" "*" "/" "<>" "++" "--" "|>" "<<<" ">>>" "<<~" "~>>" "<~" "~>" "<~>" "+++" "---" "&&&" "|||" "^^^" "==" "!=" "=~" "<" ">" "<=" ">=" "&&" "||" ".." "in"] @name))) @definition.macro
  (#any-of? @_define "defmacro" "defmacrop") (#set! clauses))

((unary_operator
    operator: "@"
    operand: (call target: (identifier) @_type (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)])))) @definition.type
  (#any-of? @_type "type" "typep" "opaque"))
((unary_operator
    operator: "@"
    operand: (call target: (identifier) @_callback (arguments (binary_operator left: [
      (identifier) @name
      (call target: (identifier) @name)
      (binary_operator left: (call target: (identifier) @name))
    ])))) @definition.method
  (#any-of? @_callback "callback" "macrocallback"))
((unary_operator operator: "@" operand: (call target: (identifier) @name (arguments (_)))) @definition.constant
  (#not-match? @name "^(after_compile|before_compile|behaviour|callback|compile|deprecated|derive|dialyzer|doc|enforce_keys|external_resource|impl|macrocallback|moduledoc|moduletag|on_definition|on_load|opaque|optional_callbacks|spec|tag|type|typedoc|typep)$")
  (#set! hidden))
((call target: (identifier) @_define (arguments (list (atom) @name @definition.field)))
  (#any-of? @_define "defstruct" "defexception"))
((call target: (identifier) @_define (arguments (list (keywords (pair key: (keyword) @name) @definition.field))))
  (#any-of? @_define "defstruct" "defexception"))
((call target: (identifier) @_define (arguments (keywords (pair key: (keyword) @name) @definition.field)))
  (#any-of? @_define "defstruct" "defexception"))

((call
    target: (identifier)
    (arguments . [(alias) (dot)] @name)
    (do_block . (unary_operator operand: (call target: (identifier) @_doc (arguments [(string) (sigil)] @docstring)))))
  (#eq? @_doc "moduledoc"))
(((unary_operator operand: (call target: (identifier) @_doc (arguments [(string) (sigil)] @docstring)))
    . (unary_operator)*
    . (call target: (identifier) (arguments . [
    (call target: (identifier) @name)
    (identifier) @name
    (binary_operator left: (call target: (identifier) @name) operator: "when")
    (binary_operator left: (identifier) @name operator: "when")
  ])))
  (#eq? @_doc "doc"))

(anonymous_function) @barrier
((unary_operator operand: (call target: (identifier) @_leading)) @leading (#any-of? @_leading "spec" "impl" "doc" "deprecated"))
((unary_operator operand: (call target: (identifier) @_spec (arguments (binary_operator left: (call target: (identifier) @own)))))
  (#eq? @_spec "spec"))
((unary_operator operand: (call target: (identifier) @_spec (arguments (binary_operator left: (binary_operator left: (call target: (identifier) @own))))))
  (#eq? @_spec "spec"))
(comment) @comment
(ERROR) @error

; Names bound inside a function

((call target: (identifier) @_define (arguments . (call (arguments (identifier) @local))))
  (#any-of? @_define "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate"))
((call target: (identifier) @_define (arguments . (binary_operator left: (call (arguments (identifier) @local)) operator: "when")))
  (#any-of? @_define "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp"))
(binary_operator left: (identifier) @local operator: "=")
(binary_operator left: (identifier) @local operator: "<-")
(stab_clause left: (arguments (identifier) @local))

; References

((unary_operator operand: (call target: (identifier) @_behaviour (arguments (alias) @reference.inherit)))
  (#eq? @_behaviour "behaviour") (#set! qualified))
((call target: (identifier) @_use (arguments . (alias) @reference.inherit)) (#any-of? @_use "use" "defimpl") (#set! qualified))

(struct (alias) @reference.call (#set! qualified))
(call target: (dot left: (_) @receiver right: (identifier) @reference.call))
(call target: (identifier) @reference.call)
(binary_operator operator: "|>" right: (identifier) @reference.call)

((unary_operator operator: "&" operand: (binary_operator left: [
    (identifier) @reference.read
    (call target: (dot left: (_) @receiver right: (identifier) @reference.read))
  ] operator: "/")) (#set! always))
(unary_operator operator: "@" operand: (identifier) @reference.read)
((alias) @reference.type (#set! qualified))

[
  (arguments (identifier) @reference.read)
  (pair value: (identifier) @reference.read)
  (list (identifier) @reference.read)
  (tuple (identifier) @reference.read)
  (binary_operator right: (identifier) @reference.read)
  (do_block (identifier) @reference.read)
]

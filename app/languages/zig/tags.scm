; Definitions. A type is a constant that holds a container.

(Decl (FnProto function: (IDENTIFIER) @name) (Block)? @body) @definition.function
(VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr . (ContainerDecl (ContainerDeclType "struct") "{" @body)))) @definition.struct
(VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr . (ContainerDecl (ContainerDeclType "union") "{" @body)))) @definition.union
(VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr . (ContainerDecl (ContainerDeclType "enum") "{" @body)))) @definition.enum
(VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr . (ContainerDecl (ContainerDeclType "opaque") "{" @body)))) @definition.type
(VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr . (ErrorSetDecl "{" @body)))) @definition.enum
(Decl (VarDecl "const" variable_type_function: (IDENTIFIER) @name)) @definition.constant
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name)) @definition.variable

(ErrorSetDecl field_constant: (IDENTIFIER) @name @definition.enum_member (#set! exported))
(ContainerField field_member: (IDENTIFIER) @name (#set! exported)) @definition.field
(ContainerDecl
  (ContainerDeclType ["enum" "union"])
  (ContainerField . (ErrorUnionExpr . (SuffixExpr . (IDENTIFIER) @name))) @definition.enum_member
  (#set! exported))

(TestDecl) @barrier
[(line_comment) (doc_comment) (container_doc_comment)] @comment
(ERROR) @error

; Names bound inside a function

(ParamDecl parameter: (IDENTIFIER) @local)
(Statement (VarDecl variable_type_function: (IDENTIFIER) @local))
(PtrListPayload variable: (IDENTIFIER) @local)
(PtrIndexPayload variable: (IDENTIFIER) @local)
(PtrPayload variable: (IDENTIFIER) @local)
(Payload variable: (IDENTIFIER) @local)

; References

(SuffixExpr . (IDENTIFIER) @reference.call . (FnCallArguments))
(SuffixExpr . (IDENTIFIER) @reference.call . (InitList))
(SuffixExpr . (_) @receiver . (FieldOrFnCall)* @receiver . (FieldOrFnCall function_call: (IDENTIFIER) @reference.call))
((ErrorUnionExpr (SuffixExpr . (IDENTIFIER) @reference.call .)) . (InitList))

((SuffixExpr . (IDENTIFIER) @reference.type) (#not-match? @reference.type "^(?![A-Z])"))
((SuffixExpr . (_) @receiver . (FieldOrFnCall)* @receiver . (FieldOrFnCall field_access: (IDENTIFIER) @reference.type))
  (#not-match? @reference.type "^(?![A-Z])"))
(SuffixExpr . (IDENTIFIER) @reference.read)
(SuffixExpr . (_) @receiver . (FieldOrFnCall)* @receiver . (FieldOrFnCall field_access: (IDENTIFIER) @reference.read))

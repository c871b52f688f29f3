((VarDecl variable_type_function: (IDENTIFIER) @alias (ErrorUnionExpr (SuffixExpr
    . (BUILTINIDENTIFIER) @_import
    . (FnCallArguments (ErrorUnionExpr (SuffixExpr (STRINGLITERALSINGLE) @module)))
    .)))
  (#eq? @_import "@import")) @import
((VarDecl variable_type_function: (IDENTIFIER) @alias (ErrorUnionExpr (SuffixExpr
    . (BUILTINIDENTIFIER) @_import
    . (FnCallArguments (ErrorUnionExpr (SuffixExpr (STRINGLITERALSINGLE) @module)))
    . (FieldOrFnCall field_access: (IDENTIFIER) @name)
    .)))
  (#eq? @_import "@import")) @import
((SuffixExpr
    . (BUILTINIDENTIFIER) @_import
    . (FnCallArguments (ErrorUnionExpr (SuffixExpr (STRINGLITERALSINGLE) @module))))
  (#eq? @_import "@import") (#set! name "*") (#set! fallback)) @import

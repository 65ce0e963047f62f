; Names first: of two patterns for one node, the later one counts.

(identifier) @variable
((identifier) @type (#match? @type "^[A-Z][A-Za-z0-9_]*[a-z]"))
((identifier) @constant (#match? @constant "^[A-Z][A-Z0-9_]*$"))
((identifier) @variable.builtin (#any-of? @variable.builtin "self" "Self"))

(attribute name: (identifier) @property)
(call function: (identifier) @function)
(call function: (attribute name: (identifier) @function.method))
(function_definition name: (identifier) @function)
(struct_definition name: (identifier) @type)
(trait_definition name: (identifier) @type)
(extension_definition name: (identifier) @type)
(parameter name: (identifier) @variable.parameter)
(keyword_argument name: (identifier) @variable.parameter)
(decorator) @attribute
(dotted_name (identifier) @module)

(comment) @comment
(string_literal) @string
(block . (expression_statement (string) @string.documentation))
(source_file . (expression_statement (string) @string.documentation))
(integer) @number
(float) @number.float
[(true) (false)] @boolean
[(none) (ellipsis)] @constant.builtin

[
  "alias" "as" "async" "await" "comptime" "def" "fn" "lambda" "ref" "struct" "trait" "unified" "var" "where" "__extension"
  (convention) (effect)
] @keyword
["if" "elif" "else" "for" "while" "with" "match" "case" (break_statement) (continue_statement) (pass_statement)] @keyword.control
["try" "except" "finally" "raise"] @keyword.exception
["return"] @keyword.return
["import" "from"] @keyword.import
["assert" "__comptime_assert"] @keyword
["and" "or" "not" "in" "is"] @keyword.operator

[
  "+" "-" "*" "**" "/" "//" "%" "@" "<<" ">>" "&" "|" "^" "~" "=" ":=" "->"
  "<" "<=" ">" ">=" "==" "!="
  "+=" "-=" "*=" "/=" "//=" "%=" "**=" "@=" "<<=" ">>=" "&=" "|=" "^="
  (transfer)
] @operator

["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":" ";" "."] @punctuation.delimiter

/**
 * The tree-sitter grammar of .kpy and .mojo files, of both editions.
 *
 * It accepts what grammar/kpy.lark accepts; src/scanner.c makes the tokens that depend on indentation or on the word
 * that follows. An error in a file ends one node, not the tree: the rest keeps its highlighting.
 */

/// <reference types="tree-sitter-cli/dsl" />

const PREC = {
  function_type: 1,
  ternary: 2,
  or: 3,
  and: 4,
  not: 5,
  comparison: 6,
  bit_or: 7,
  bit_xor: 8,
  bit_and: 9,
  shift: 10,
  sum: 11,
  product: 12,
  unary: 13,
  power: 14,
  await: 15,
  postfix: 16,
};

const sep1 = (rule) => seq(rule, repeat(seq(",", rule)));
const list1 = (rule) => seq(sep1(rule), optional(","));
const list = (rule) => optional(list1(rule));

module.exports = grammar({
  name: "kpy",

  word: ($) => $.identifier,

  externals: ($) => [
    $._newline,
    $._indent,
    $._dedent,
    $.string_literal,
    $.integer,
    $.float,
    $.transfer,
    $._xor,
    $.convention,
    $._ref,
    $._ref_origin,
    $._alias,
    $._comptime,
    $._async,
    $._match,
    $._recovery, // no rule has it: it is valid only while tree-sitter recovers from an error
  ],

  extras: ($) => [$.comment, /[\s\f\uFEFF]/, /\\\r?\n/],

  supertypes: ($) => [$.expression, $.primary_expression],

  inline: ($) => [$._fn_word, $._compound],

  conflicts: ($) => [[$._ref_convention]],

  rules: {
    source_file: ($) => repeat($._statement),

    // ---- blocks and lines ----

    _statement: ($) => choice($._line, $._compound),
    _line: ($) => seq($._simple, repeat(seq(";", $._simple)), optional(";"), $._newline),
    block: ($) => choice($._line, seq($._indent, repeat1($._statement), $._dedent)),

    _compound: ($) =>
      choice(
        $.function_definition,
        $.struct_definition,
        $.extension_definition,
        $.trait_definition,
        $.decorated_definition,
        $.if_statement,
        $.while_statement,
        $.for_statement,
        $.try_statement,
        $.with_statement,
        $.match_statement,
        $.comptime_statement,
      ),

    _simple: ($) =>
      choice(
        $.expression_statement,
        $.assignment,
        $.annotated_assignment,
        $.augmented_assignment,
        $.variable_declaration,
        $.reference_declaration,
        $.alias_declaration,
        $.static_assert,
        $.assert_statement,
        $.import_statement,
        $.import_from_statement,
        $.return_statement,
        $.raise_statement,
        $.break_statement,
        $.continue_statement,
        $.pass_statement,
      ),

    return_statement: ($) => seq("return", optional($._expressions)),
    raise_statement: ($) => seq("raise", optional($.expression)),
    break_statement: (_) => "break",
    continue_statement: (_) => "continue",
    pass_statement: (_) => "pass",

    // ---- declarations ----

    decorated_definition: ($) =>
      seq(
        repeat1($.decorator),
        choice(
          $.function_definition,
          $.struct_definition,
          $.trait_definition,
          $.if_statement,
          $.for_statement,
          seq($.alias_declaration, $._newline),
        ),
      ),
    decorator: ($) => seq("@", $._postfix, optional($._newline)),

    _fn_word: (_) => choice("fn", "def"),
    function_definition: ($) =>
      seq(
        optional(alias($._async, "async")),
        $._fn_word,
        field("name", $.identifier),
        optional(field("parameters", $.parameters)),
        field("arguments", $.arguments),
        repeat($._effect),
        optional($._result),
        repeat($.where_clause),
        ":",
        field("body", $.block),
      ),

    parameters: ($) => seq("[", list($._parameter), "]"),
    arguments: ($) => seq("(", list($._parameter), ")"),
    _parameter: ($) => choice($.parameter, $.parameter_mark),
    parameter: ($) =>
      choice(
        seq(
          field("name", $.identifier),
          optional($._type),
          optional($._parameter_condition),
          optional($._default),
        ),
        seq($._convention, field("name", $.identifier), optional($._type), optional($._default)),
        seq(optional($._convention), "*", field("name", $.identifier), optional($._star_type)),
        seq(optional($._convention), "**", field("name", $.identifier), optional($._type)),
      ),
    parameter_mark: (_) => choice("*", "/", "//"),
    _parameter_condition: ($) => seq("where", $.expression),
    _convention: ($) => choice($.convention, alias("var", $.convention), $._ref_convention),
    _ref_convention: ($) =>
      choice(
        alias($._ref, $.convention),
        alias($._ref_origin, $.convention),
        seq(alias($._ref_origin, $.convention), $.origins),
      ),
    origins: ($) => prec(1, seq("[", list1($.expression), "]")),

    _type: ($) => seq(":", field("type", $.expression)),
    _star_type: ($) => seq(":", optional("*"), field("type", $.expression)),
    _default: ($) => seq("=", field("default", $.expression)),

    _effect: ($) => choice($.effect, $.capture_list),
    effect: ($) =>
      choice(
        seq("raises", optional(field("error", $.error_type))),
        "escaping",
        "unified",
        "thin",
        seq("abi", "(", $.string, ")"),
        seq("capturing", optional($.origins)),
      ),
    error_type: ($) =>
      prec.right(
        seq(
          $.identifier,
          repeat(choice(seq(".", $.identifier), seq("[", list(choice($._call_argument, $.slice)), "]"))),
        ),
      ),
    capture_list: ($) => prec(1, seq(optional("unified"), "{", list($.capture), "}")),
    capture: ($) =>
      choice(
        $.identifier,
        seq($.identifier, $.transfer),
        "var",
        $.convention,
        alias($._ref, "ref"),
        seq(choice($.convention, "var", alias($._ref, "ref")), $.identifier),
        seq("var", $.identifier, $.transfer),
      ),

    _result: ($) =>
      seq(
        "->",
        optional(
          choice(alias($._ref, $.convention), seq(alias($._ref_origin, $.convention), $.origins)),
        ),
        field("result", $.expression),
      ),

    where_clause: ($) => prec.right(seq("where", sep1($.expression))),

    struct_definition: ($) =>
      seq(
        "struct",
        field("name", $.identifier),
        optional(field("parameters", $.parameters)),
        optional($.bases),
        repeat($.where_clause),
        ":",
        field("body", $.block),
      ),
    extension_definition: ($) =>
      seq("__extension", field("name", $.identifier), optional($.bases), ":", field("body", $.block)),
    trait_definition: ($) =>
      seq(
        "trait",
        field("name", $.identifier),
        optional(field("parameters", $.parameters)),
        optional($.bases),
        ":",
        field("body", $.block),
      ),
    bases: ($) => seq("(", list(choice($.expression, $.conditional_base)), ")"),
    conditional_base: ($) => seq(field("trait", $.expression), "where", field("condition", $.expression)),

    alias_declaration: ($) =>
      seq(
        choice(alias($._alias, "alias"), alias($._comptime, "comptime")),
        choice(
          seq(
            field("name", $.identifier),
            optional(field("parameters", $.parameters)),
            optional($._type),
            repeat($.where_clause),
            optional($._value),
          ),
          seq(choice(seq($._alias_name, ",", sep1($._alias_name)), $.alias_group), $._value),
        ),
      ),
    _alias_name: ($) => choice(field("name", $.identifier), $.alias_group),
    alias_group: ($) => seq("(", sep1($._alias_name), optional(","), ")"),
    _value: ($) => seq("=", field("value", $._expressions)),

    // ---- statements ----

    expression_statement: ($) => $._expressions,
    assignment: ($) => seq(repeat1(seq(choice($._expressions, $._targets), "=")), $._expressions),
    // Targets of which one at least declares a name, and not the first: `x, var y = 1, 2`.
    _targets: ($) =>
      seq(
        sep1($.expression),
        ",",
        $.bound_target,
        repeat(seq(",", choice($.expression, $.bound_target))),
        optional(","),
      ),
    annotated_assignment: ($) => seq($._postfix, $._type, optional($._value)),
    augmented_assignment: ($) =>
      seq(
        $._expressions,
        choice("+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=", "<<=", ">>=", "&=", "|=", "^="),
        $._expressions,
      ),
    variable_declaration: ($) =>
      seq("var", $._pattern, optional($._type), repeat($._value)),
    reference_declaration: ($) => seq(alias($._ref, "ref"), $._pattern, optional($._type), $._value),
    static_assert: ($) =>
      seq(choice(seq(alias($._comptime, "comptime"), "assert"), "__comptime_assert"), sep1($.expression)),

    assert_statement: ($) => seq("assert", sep1($.expression)),

    match_statement: ($) =>
      seq(
        alias($._match, "match"),
        field("subject", $._expressions),
        ":",
        $._indent,
        repeat1($.case_clause),
        $._dedent,
      ),
    case_clause: ($) =>
      seq(
        "case",
        $._case_patterns,
        optional(seq("if", field("guard", $._named_expression))),
        ":",
        field("body", $.block),
      ),
    _case_patterns: ($) => seq($._case_pattern, repeat(seq("|", $._case_pattern))),
    _case_pattern: ($) =>
      choice(
        $.dotted_name,
        seq("var", $.identifier),
        $.integer,
        $.float,
        $.string,
        $.true,
        $.false,
        seq("==", $.primary_expression),
        seq("-", choice($.integer, $.float)),
        $.case_tuple,
      ),
    case_tuple: ($) => seq("(", $._case_patterns, repeat1(seq(",", $._case_patterns)), optional(","), ")"),

    if_statement: ($) =>
      seq(
        "if",
        field("condition", $._named_expression),
        ":",
        field("body", $.block),
        repeat($.elif_clause),
        optional($.else_clause),
      ),
    elif_clause: ($) => seq("elif", field("condition", $._named_expression), ":", field("body", $.block)),
    else_clause: ($) => seq("else", ":", field("body", $.block)),
    while_statement: ($) =>
      seq(
        "while",
        field("condition", $._named_expression),
        ":",
        field("body", $.block),
        optional($.else_clause),
      ),
    for_statement: ($) =>
      seq(
        "for",
        field("target", $._pattern),
        "in",
        field("iterable", $._expressions),
        ":",
        field("body", $.block),
        optional($.else_clause),
      ),
    comptime_statement: ($) => seq(alias($._comptime, "comptime"), choice($.if_statement, $.for_statement)),

    _pattern: ($) => seq(sep1(choice($.primary_expression, $.bound_target)), optional(",")),
    bound_target: ($) => seq(choice("var", alias($._ref, "ref")), $.primary_expression),

    try_statement: ($) =>
      seq(
        "try",
        ":",
        field("body", $.block),
        optional($.except_clause),
        optional($.else_clause),
        optional($.finally_clause),
      ),
    except_clause: ($) => seq("except", optional(field("name", $.identifier)), ":", field("body", $.block)),
    finally_clause: ($) => seq("finally", ":", field("body", $.block)),

    with_statement: ($) => seq("with", sep1($.with_item), ":", field("body", $.block)),
    with_item: ($) => seq($.expression, optional(seq("as", field("name", $.identifier)))),

    import_statement: ($) => seq("import", sep1($.imported_module)),
    imported_module: ($) => seq($._origin, optional(seq("as", field("alias", $.identifier)))),
    import_from_statement: ($) =>
      seq(
        "from",
        field("module", $._origin),
        "import",
        choice("*", sep1($.imported_name), seq("(", list1($.imported_name), ")")),
      ),
    imported_name: ($) => seq(field("name", $.identifier), optional(seq("as", field("alias", $.identifier)))),
    _origin: ($) => choice($.dotted_name, $.relative_name),
    dotted_name: ($) => seq($.identifier, repeat(seq(".", $.identifier))),
    relative_name: ($) => seq(repeat1(choice(".", "...")), optional($.dotted_name)),

    // ---- expressions ----

    _expressions: ($) => prec.left(seq(sep1($.expression), optional(","))),
    _named_expression: ($) => choice($.expression, $.named_expression),
    named_expression: ($) =>
      seq(optional("var"), field("name", $.identifier), ":=", field("value", $.expression)),

    expression: ($) =>
      choice(
        $.conditional_expression,
        $.boolean_operator,
        $.not_operator,
        $.comparison,
        $.function_type,
        $.lambda_function,
        $.primary_expression,
      ),

    lambda_function: ($) =>
      prec.right(
        seq(
          "lambda",
          optional(field("parameters", $.parameters)),
          field("arguments", $.arguments),
          repeat($._effect),
          optional($._result),
          ":",
          field("body", $.expression),
        ),
      ),

    function_type: ($) =>
      prec.right(
        PREC.function_type,
        seq(
          $._fn_word,
          optional(field("parameters", $.parameters)),
          field("arguments", $.type_arguments),
          repeat($._effect),
          optional($._result),
        ),
      ),
    type_arguments: ($) => seq("(", list(choice($.type_argument, $.parameter_mark)), ")"),
    type_argument: ($) =>
      choice(
        seq(optional($._convention), $.expression, optional($._type), optional($._default)),
        seq(optional($._convention), "*", $.expression, optional($._star_type)),
        seq("**", $.expression, optional($._type)),
      ),

    conditional_expression: ($) =>
      prec.right(PREC.ternary, seq($.expression, "if", $.expression, "else", $.expression)),
    boolean_operator: ($) =>
      choice(
        prec.left(PREC.or, seq($.expression, "or", $.expression)),
        prec.left(PREC.and, seq($.expression, "and", $.expression)),
      ),
    not_operator: ($) => prec(PREC.not, seq("not", $.expression)),
    comparison: ($) =>
      prec.left(
        PREC.comparison,
        seq(
          $.primary_expression,
          repeat1(
            seq(
              choice("<", "<=", ">", ">=", "==", "!=", "in", seq("not", "in"), "is", seq("is", "not")),
              $.primary_expression,
            ),
          ),
        ),
      ),

    primary_expression: ($) =>
      choice($.binary_operator, $.unary_operator, $.await_expression, $._postfix),

    binary_operator: ($) =>
      choice(
        ...[
          ["|", PREC.bit_or],
          ["&", PREC.bit_and],
          ["<<", PREC.shift],
          [">>", PREC.shift],
          ["+", PREC.sum],
          ["-", PREC.sum],
          ["*", PREC.product],
          ["/", PREC.product],
          ["//", PREC.product],
          ["%", PREC.product],
          ["@", PREC.product],
        ].map(([operator, level]) =>
          prec.left(
            level,
            seq(
              field("left", $.primary_expression),
              field("operator", operator),
              field("right", $.primary_expression),
            ),
          ),
        ),
        prec.left(
          PREC.bit_and,
          seq(
            field("left", $.primary_expression),
            field("operator", "&"),
            field("right", $.function_type), // bounds: `F: Copyable & def(Int) -> Int`
          ),
        ),
        prec.left(
          PREC.bit_xor,
          seq(
            field("left", $.primary_expression),
            field("operator", alias($._xor, "^")),
            field("right", $.primary_expression),
          ),
        ),
        prec.right(
          PREC.power,
          seq(
            field("left", $.primary_expression),
            field("operator", "**"),
            field("right", $.primary_expression),
          ),
        ),
      ),
    unary_operator: ($) => prec(PREC.unary, seq(choice("-", "+", "~"), $.primary_expression)),
    await_expression: ($) => prec(PREC.await, seq("await", $._postfix)),

    _postfix: ($) => choice($._atom, $.transfer_expression, $.attribute, $.call, $.subscript),
    transfer_expression: ($) => prec(PREC.postfix, seq($._postfix, $.transfer)),
    attribute: ($) => prec(PREC.postfix, seq(field("object", $._postfix), ".", field("name", $.identifier))),
    call: ($) =>
      prec(PREC.postfix, seq(field("function", $._postfix), field("arguments", $.argument_list))),
    argument_list: ($) => seq("(", list($._call_argument), ")"),
    subscript: ($) =>
      prec(PREC.postfix, seq(field("value", $._postfix), "[", list(choice($._call_argument, $.slice, $.keyword_slice)), "]")),
    keyword_slice: ($) => seq(field("name", $.identifier), "=", field("value", $.slice)),
    _call_argument: ($) => choice($._named_expression, $.keyword_argument, $.splat),
    keyword_argument: ($) => seq(field("name", $.identifier), "=", field("value", $.expression)),
    splat: ($) => seq(choice("*", "**"), $.expression),
    slice: ($) =>
      seq(
        optional($.expression),
        ":",
        optional($.expression),
        optional(seq(":", optional($.expression))),
      ),

    _atom: ($) =>
      choice(
        $.identifier,
        $.integer,
        $.float,
        $.string,
        $.true,
        $.false,
        $.none,
        $.ellipsis,
        $.parenthesized,
        $.tuple,
        $.list,
        $.list_comprehension,
        $.dictionary,
        $.dictionary_comprehension,
        $.set,
        $.set_comprehension,
      ),
    string: ($) => prec.right(repeat1($.string_literal)),
    true: (_) => "True",
    false: (_) => "False",
    none: (_) => "None",
    ellipsis: (_) => "...",

    _tuple_item: ($) => choice($._named_expression, $.bound_target),
    parenthesized: ($) => seq("(", $._tuple_item, ")"),
    tuple: ($) =>
      seq(
        "(",
        optional(seq($._tuple_item, ",", optional(seq(sep1($._tuple_item), optional(","))))),
        ")",
      ),
    list: ($) => seq("[", list($._named_expression), "]"),
    list_comprehension: ($) => seq("[", $._named_expression, repeat1($.for_clause), "]"),
    dictionary: ($) => seq("{", list($.pair), "}"),
    dictionary_comprehension: ($) => seq("{", $.pair, repeat1($.for_clause), "}"),
    set: ($) => seq("{", list1(choice($._named_expression, $.keyword_argument)), "}"),
    set_comprehension: ($) => seq("{", $._named_expression, repeat1($.for_clause), "}"),
    pair: ($) => seq(field("key", $.expression), ":", field("value", $.expression)),
    for_clause: ($) =>
      prec.right(
        seq("for", field("target", $._pattern), "in", field("iterable", $._condition), repeat($.if_clause)),
      ),
    if_clause: ($) => seq("if", $._condition),
    // An or_test: not a conditional expression, whose `if` would take the clause's.
    _condition: ($) =>
      prec(PREC.or, choice($.boolean_operator, $.not_operator, $.comparison, $.primary_expression)),

    identifier: (_) => /[\p{L}_][\p{L}\p{Nd}_\p{Mn}\p{Mc}]*|`[^`\n]*`/,
    comment: (_) => token(/#[^\n]*/),
  },
});

// The tokens of .kpy files that no regular expression can tell: lines and indentation, strings, numbers, and the words
// and operators whose kind depends on what follows. toolchain/syntax/lexing/lexer.py says the same in Python.

#include "tree_sitter/array.h"
#include "tree_sitter/parser.h"

#include <string.h>

enum Token {
  NEWLINE,
  INDENT,
  DEDENT,
  STRING,
  INTEGER,
  FLOAT,
  TRANSFER,
  XOR,
  CONVENTION,
  REF,
  REF_ORIGIN,
  ALIAS,
  COMPTIME,
  ASYNC,
  MATCH,
  RECOVERY,
};

// What a line's end has to remember. `block_starts`: the last token was an indent; `docstring`: a string came right
// after it, and the statement behind it may be indented deeper.
typedef struct {
  Array(uint16_t) indents;
  bool block_starts;
  bool docstring;
} Scanner;

enum { MAX_WORD = 16 };

static const char *const KEYWORDS[] = {"and",   "as",   "await", "break",  "continue", "def",    "elif", "else",
                                       "except", "False", "finally", "fn", "for",      "from",   "if",   "import",
                                       "in",    "is",   "None",  "not",    "or",       "pass",   "raise", "return",
                                       "struct", "trait", "True", "try",   "var",      "while",  "with"};
static const char *const CONVENTIONS[] = {"read", "mut", "out", "owned", "deinit", "inout", "borrowed", "imm"};

static bool one_of(const char *word, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(word, words[i]) == 0) return true;
  return false;
}

static bool is_keyword(const char *word) { return one_of(word, KEYWORDS, sizeof KEYWORDS / sizeof *KEYWORDS); }

static bool is_digit(int32_t c) { return c >= '0' && c <= '9'; }

static bool starts_word(int32_t c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c > 127; }

static void advance(TSLexer *lexer) { lexer->advance(lexer, false); }

static void skip(TSLexer *lexer) { lexer->advance(lexer, true); }

// Skip blanks and joined lines; the end of a line stays.
static void blanks(TSLexer *lexer) {
  for (;;) {
    int32_t c = lexer->lookahead;
    if (c == ' ' || c == '\t' || c == '\f' || c == '\r') {
      advance(lexer);
    } else if (c == '\\') {
      advance(lexer);
      if (lexer->lookahead == '\r') advance(lexer);
      if (lexer->lookahead != '\n') return;
      advance(lexer);
    } else {
      return;
    }
  }
}

// Read a word into `word`, cut to MAX_WORD - 1 letters.
static void read_word(TSLexer *lexer, char *word) {
  int length = 0;
  while (starts_word(lexer->lookahead) || is_digit(lexer->lookahead)) {
    if (length < MAX_WORD - 1) word[length++] = lexer->lookahead < 128 ? (char)lexer->lookahead : '?';
    advance(lexer);
  }
  word[length] = 0;
}

static bool found(TSLexer *lexer, enum Token token) {
  lexer->result_symbol = token;
  return true;
}

// ---- strings and numbers ----

// Read a string from its quotation mark on.
static bool read_string(TSLexer *lexer) {
  int32_t quote = lexer->lookahead;
  bool triple = false;
  advance(lexer);
  if (lexer->lookahead == quote) {
    advance(lexer);
    lexer->mark_end(lexer);
    if (lexer->lookahead != quote) return found(lexer, STRING); // empty
    advance(lexer);
    triple = true;
  }
  for (int closing = 0; !lexer->eof(lexer);) {
    int32_t c = lexer->lookahead;
    if (c == '\n' && !triple) return false;
    advance(lexer);
    closing = c == quote ? closing + 1 : 0;
    if (closing == (triple ? 3 : 1)) {
      lexer->mark_end(lexer);
      return found(lexer, STRING);
    }
    if (c == '\\') advance(lexer);
  }
  return false;
}

static void digits(TSLexer *lexer) {
  while (is_digit(lexer->lookahead) || lexer->lookahead == '_') advance(lexer);
}

static bool is_hex(int32_t c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// After an `e`: read the exponent, if it is one.
static bool exponent(TSLexer *lexer) {
  if (lexer->lookahead != 'e' && lexer->lookahead != 'E') return false;
  advance(lexer);
  if (lexer->lookahead == '+' || lexer->lookahead == '-') advance(lexer);
  if (!is_digit(lexer->lookahead)) return false;
  digits(lexer);
  lexer->mark_end(lexer);
  return true;
}

// Read a number that starts with its point; a point alone is an operator.
static bool read_fraction(TSLexer *lexer) {
  advance(lexer);
  if (!is_digit(lexer->lookahead)) return false;
  digits(lexer);
  lexer->mark_end(lexer);
  exponent(lexer);
  return found(lexer, FLOAT);
}

// `1.` is a number unless a name or another dot follows: `1.max(2)`.
static bool read_number(TSLexer *lexer) {
  bool zero = lexer->lookahead == '0';
  advance(lexer);
  int32_t base = lexer->lookahead;
  if (zero && base && strchr("xXoObB", (int)base) && base < 128) {
    advance(lexer);
    while (is_hex(lexer->lookahead) || lexer->lookahead == '_') advance(lexer);
    lexer->mark_end(lexer);
    return found(lexer, INTEGER);
  }
  digits(lexer);
  lexer->mark_end(lexer);
  if (lexer->lookahead != '.') return found(lexer, exponent(lexer) ? FLOAT : INTEGER);
  advance(lexer);
  if (is_digit(lexer->lookahead)) {
    digits(lexer);
    lexer->mark_end(lexer);
    exponent(lexer);
    return found(lexer, FLOAT);
  }
  if (lexer->lookahead == '.') return found(lexer, INTEGER);
  if (!starts_word(lexer->lookahead)) {
    lexer->mark_end(lexer);
    return found(lexer, FLOAT);
  }
  return found(lexer, exponent(lexer) ? FLOAT : INTEGER);
}

// ---- words and operators ----

// `^` moves a value unless an operand follows it.
static bool read_caret(TSLexer *lexer, bool ends_line) {
  advance(lexer);
  if (lexer->lookahead == '=') return false; // `^=`
  lexer->mark_end(lexer);
  blanks(lexer);
  while (!ends_line && (lexer->lookahead == '\n' || lexer->lookahead == '#')) {
    while (lexer->lookahead == '#' && !lexer->eof(lexer))
      while (lexer->lookahead != '\n' && !lexer->eof(lexer)) advance(lexer);
    advance(lexer);
    blanks(lexer);
  }
  int32_t c = lexer->lookahead;
  bool operand = c && c < 128 && strchr("([{-+~\"'`", (int)c) != NULL;
  if (is_digit(c)) operand = true;
  if (c == '.') {
    advance(lexer);
    operand = is_digit(lexer->lookahead) || lexer->lookahead == '.';
  } else if (starts_word(c)) {
    char word[MAX_WORD];
    read_word(lexer, word);
    bool literal = strcmp(word, "True") == 0 || strcmp(word, "False") == 0 || strcmp(word, "None") == 0;
    operand = literal || !is_keyword(word);
  }
  return found(lexer, operand ? XOR : TRANSFER);
}

// A word that is a keyword only in front of certain others, or the prefix of a string.
static bool read_special_word(TSLexer *lexer, const bool *valid) {
  char word[MAX_WORD], next[MAX_WORD] = "";
  read_word(lexer, word);
  if (lexer->lookahead == '"' || lexer->lookahead == '\'')
    return valid[STRING] && !is_keyword(word) && read_string(lexer);
  bool is_convention = one_of(word, CONVENTIONS, sizeof CONVENTIONS / sizeof *CONVENTIONS);
  bool is_ref = strcmp(word, "ref") == 0, is_alias = strcmp(word, "alias") == 0;
  bool is_comptime = strcmp(word, "comptime") == 0;
  bool is_match = strcmp(word, "match") == 0;
  if (!is_convention && !is_ref && !is_alias && !is_comptime && !is_match && strcmp(word, "async") != 0) return false;
  lexer->mark_end(lexer);
  bool spaced = lexer->lookahead == ' ';
  blanks(lexer);
  int32_t c = lexer->lookahead;
  if (starts_word(c)) read_word(lexer, next);
  bool named = c == '`' || (*next && !is_keyword(next));
  if (is_match) { // not `match = …`, `match.x`, `match(…)`: an operand follows after a blank
    bool operand = named || is_digit(c) || (c && c < 128 && strchr("([{-+~\"'", (int)c) != NULL);
    return valid[MATCH] && spaced && operand && found(lexer, MATCH);
  }
  bool function = strcmp(next, "fn") == 0 || strcmp(next, "def") == 0;
  if (is_convention) return valid[CONVENTION] && (named || function || c == '*') && found(lexer, CONVENTION);
  if (is_ref && named) return valid[REF] && found(lexer, REF);
  if (is_ref) return valid[REF_ORIGIN] && (c == '[' || c == '*') && found(lexer, REF_ORIGIN);
  bool group = spaced && c == '('; // `alias (a, b) = …`; a call has no space
  if (is_alias) return valid[ALIAS] && (named || group) && found(lexer, ALIAS);
  if (is_comptime) {
    bool statement = strcmp(next, "if") == 0 || strcmp(next, "for") == 0;
    return valid[COMPTIME] && (named || statement || group) && found(lexer, COMPTIME);
  }
  return valid[ASYNC] && function && found(lexer, ASYNC);
}

// ---- lines ----

typedef struct {
  uint16_t indent; // of the next line with code
  bool ended;      // a line has ended before it
  bool is_comment; // a comment comes first, on a line of its own that is indented like the block or deeper
} Line;

// Skip to the next code. Tabs count as one column, as the indentation of a block is uniform.
static Line next_line(TSLexer *lexer, uint16_t top) {
  Line line = {0, false, false};
  for (;;) {
    int32_t c = lexer->lookahead;
    if (c == '\n') {
      line.ended = true;
      line.indent = 0;
      skip(lexer);
    } else if (c == ' ' || c == '\t') {
      line.indent++;
      skip(lexer);
    } else if (c == '\r' || c == '\f') {
      skip(lexer);
    } else if (c == '\\') {
      skip(lexer);
      if (lexer->lookahead == '\r') skip(lexer);
      if (lexer->lookahead != '\n') return line;
      skip(lexer);
    } else if (c == '#' && line.ended) {
      if (line.indent >= top) line.is_comment = true;
      while (lexer->lookahead != '\n' && !lexer->eof(lexer)) skip(lexer);
    } else {
      return line;
    }
  }
}

// The tokens of a line's end, if one is here. What they are is decided by the next line with code.
static bool line_end(Scanner *self, TSLexer *lexer, const bool *valid, bool *at_code) {
  uint16_t top = *array_back(&self->indents);
  *at_code = false;
  lexer->mark_end(lexer);
  Line line = next_line(lexer, top);
  bool end = lexer->eof(lexer);
  if (end) {
    line.ended = true;
    line.indent = 0;
  }
  if (!line.ended) {
    *at_code = lexer->lookahead != '#';
    return false;
  }
  if (valid[INDENT] && !valid[RECOVERY] && line.indent > top) {
    array_push(&self->indents, line.indent);
    self->block_starts = true;
    return found(lexer, INDENT);
  }
  if (valid[NEWLINE]) {
    bool deeper = line.indent > top && !end;
    bool goes_on = deeper || (lexer->lookahead == ':' && line.indent >= top);
    if (goes_on && !valid[RECOVERY] && !(self->docstring && deeper)) {
      *at_code = true;
      return false;
    }
    if (self->docstring && deeper) *array_back(&self->indents) = line.indent;
    self->docstring = false;
    return found(lexer, NEWLINE);
  }
  if (valid[DEDENT] && line.indent < top && (end || !line.is_comment)) {
    array_pop(&self->indents);
    return found(lexer, DEDENT);
  }
  *at_code = !line.is_comment;
  return false;
}

bool tree_sitter_kpy_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid) {
  Scanner *self = payload;
  bool at_code = true;
  if (valid[NEWLINE] || valid[INDENT] || valid[DEDENT]) {
    if (line_end(self, lexer, valid, &at_code)) return true;
  } else {
    for (;;) {
      int32_t c = lexer->lookahead;
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f') break;
      skip(lexer);
    }
  }
  if (!at_code || lexer->eof(lexer)) return false;
  bool block_starts = self->block_starts;
  int32_t c = lexer->lookahead;
  self->docstring = false;
  if (c == '"' || c == '\'') {
    self->block_starts = false;
    self->docstring = block_starts;
    return valid[STRING] && read_string(lexer);
  }
  if (is_digit(c)) return (valid[INTEGER] || valid[FLOAT]) && read_number(lexer);
  if (c == '.') return valid[FLOAT] && read_fraction(lexer);
  if (c == '^') return (valid[TRANSFER] || valid[XOR]) && read_caret(lexer, valid[NEWLINE]);
  if (starts_word(c)) return read_special_word(lexer, valid);
  return false;
}

// ---- what tree-sitter calls ----

void *tree_sitter_kpy_external_scanner_create(void) {
  Scanner *self = ts_calloc(1, sizeof(Scanner));
  array_init(&self->indents);
  array_push(&self->indents, 0);
  return self;
}

void tree_sitter_kpy_external_scanner_destroy(void *payload) {
  Scanner *self = payload;
  array_delete(&self->indents);
  ts_free(self);
}

unsigned tree_sitter_kpy_external_scanner_serialize(void *payload, char *buffer) {
  Scanner *self = payload;
  unsigned size = 0;
  buffer[size++] = (char)(self->block_starts | self->docstring << 1);
  for (uint32_t i = 1; i < self->indents.size && size + 2 <= TREE_SITTER_SERIALIZATION_BUFFER_SIZE; i++) {
    memcpy(buffer + size, &self->indents.contents[i], 2);
    size += 2;
  }
  return size;
}

void tree_sitter_kpy_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  Scanner *self = payload;
  self->block_starts = self->docstring = false;
  array_clear(&self->indents);
  array_push(&self->indents, 0);
  if (length == 0) return;
  self->block_starts = buffer[0] & 1;
  self->docstring = buffer[0] >> 1 & 1;
  for (unsigned at = 1; at + 2 <= length; at += 2) {
    uint16_t indent;
    memcpy(&indent, buffer + at, 2);
    array_push(&self->indents, indent);
  }
}

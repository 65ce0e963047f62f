// Run by `npm test`: node alone, without an editor.
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { origins } = require("../out/origins.js");

const text = '\t.loc\t1 5 3\n\tmov x, y\n\t.loc 2 9 1\n\tadd z\n.file 1 "a" "p.kpy"\n.file 2 "p2.kpy"';
assert.deepStrictEqual(origins(text, "p.kpy"), [0, 5, 0, 0, 0, 0]);

const root = path.join(__dirname, "..");
const read = (name) => JSON.parse(fs.readFileSync(path.join(root, name), "utf8"));
const pack = read("package.json");
for (const { path: name } of [...pack.contributes.grammars, ...pack.contributes.snippets]) read(name);
const source = fs.readFileSync(path.join(root, "src/extension.ts"), "utf8");
for (const { command } of pack.contributes.commands) assert.ok(source.includes(`"${command}"`), command);

// Every pattern of the grammar must be a regular expression; \G is the only thing that JavaScript lacks.
const patterns = [];
const walk = (value) => {
  if (value && typeof value === "object")
    for (const [key, inner] of Object.entries(value))
      typeof inner === "string" && ["match", "begin", "end"].includes(key) ? patterns.push(inner) : walk(inner);
};
walk(read("syntaxes/kpy.tmLanguage.json"));
assert.ok(patterns.length > 15);
for (const one of patterns) new RegExp(one);
console.log(`${patterns.length} patterns, ${pack.contributes.commands.length} commands: good`);

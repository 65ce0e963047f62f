// Run by `npm test`: the extension in node alone, with stand-ins for the editor, its language client, and ktc.
const assert = require("node:assert");
const fs = require("node:fs");
const Module = require("node:module");
const os = require("node:os");
const path = require("node:path");

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "ktc-extension-"));
const ktc = path.join(folder, "ktc");
fs.writeFileSync(ktc, `#!/bin/sh\necho "$@"\necho '.file 1 "a" "prog.kpy"\n\t.loc\t1 2 1\n\tadd x, y'\n`, { mode: 0o755 });

const commands = new Map();
const happened = [];
const selected = [];
const saved = [];
let starts = true;
let provider;

class Emitter {
  listeners = [];
  event = (listener) => this.listeners.push(listener);
  fire = (value) => this.listeners.forEach((one) => one(value));
}
class Client {
  constructor(id, name, server, options) {
    Object.assign(this, { server, options });
    happened.push(["client", server.run.command, ...server.run.args, options.documentSelector[0].language]);
  }
  async start() {
    if (!starts) throw new Error("no such program");
  }
  async restart() {
    happened.push(["restart"]);
  }
  async stop() {
    happened.push(["stop"]);
  }
}
const file = path.join(folder, "prog.kpy");
const document = { languageId: "kpy", fileName: file, save: async () => happened.push(["save"]), uri: { toString: () => file } };
const editor = { document, selection: { active: { line: 1 } } };
const beside = {
  document: { uri: null, getText: () => beside.text },
  setDecorations: (_, ranges) => (beside.ranges = ranges.map((one) => one.line)),
  revealRange: () => {},
};
const terminal = { name: "ktc", show() {}, sendText: (text) => happened.push(["terminal", text]) };
const window = {
  activeTextEditor: editor,
  visibleTextEditors: [editor, beside],
  terminals: [],
  createTerminal: () => (window.terminals.push(terminal), terminal),
  createTextEditorDecorationType: () => ({}),
  onDidChangeTextEditorSelection: (listener) => selected.push(listener),
  showQuickPick: async (kinds) => kinds.find((one) => one === "llvm"),
  showInputBox: async () => "sm_90",
  showWarningMessage: (text) => happened.push(["warning", text]),
  showTextDocument: async (uri) => {
    beside.document.uri = uri;
    beside.text = await provider.provideTextDocumentContent(uri);
  },
};
const vscode = {
  window,
  workspace: {
    getConfiguration: () => ({ get: (name) => ({ path: ktc, target: "sm_80" })[name] }),
    registerTextDocumentContentProvider: (_, given) => (provider = given),
    onDidSaveTextDocument: (listener) => saved.push(listener),
  },
  commands: { registerCommand: (name, work) => commands.set(name, work) },
  EventEmitter: Emitter,
  ThemeColor: class {},
  Range: class {
    constructor(line) {
      this.line = line;
    }
  },
  Uri: { from: (parts) => ({ ...parts, toString: () => `${parts.scheme}:${parts.path}?${parts.query}` }) },
  ViewColumn: { Beside: -2 },
  TextEditorRevealType: { InCenterIfOutsideViewport: 2 },
};
const load = Module._load;
Module._load = (name, ...rest) =>
  name === "vscode"
    ? vscode
    : name === "vscode-languageclient/node"
      ? { LanguageClient: Client, TransportKind: { stdio: 0 } }
      : load(name, ...rest);
const extension = require("../out/tested.js");

async function main() {
  const context = { subscriptions: [] };
  await extension.activate(context);
  const declared = JSON.parse(fs.readFileSync(path.join(__dirname, "..", "package.json"), "utf8")).contributes.commands;
  assert.deepStrictEqual(declared.map((one) => one.command).sort(), [...commands.keys()].sort());
  assert.deepStrictEqual(happened.splice(0), [["client", ktc, "lsp", "kpy"]]);

  await commands.get("ktc.run")();
  await commands.get("ktc.check")();
  assert.deepStrictEqual(happened.splice(0), [
    ["save"],
    ["terminal", `${ktc} run ${JSON.stringify(file)}`],
    ["save"],
    ["terminal", `${ktc} check "."`],
  ]);
  assert.strictEqual(window.terminals.length, 1);

  await commands.get("ktc.assembly")();
  assert.match(beside.text, /^emit --kind asm -g1 prog\.kpy --target-accelerator sm_80\n/);
  const lines = beside.text.split("\n");
  assert.deepStrictEqual(beside.ranges.map((line) => lines[line]), ["\tadd x, y"]);
  editor.selection.active.line = 7;
  selected[0]({ textEditor: editor });
  assert.deepStrictEqual(beside.ranges, []);
  const changed = [];
  provider.onDidChange((uri) => changed.push(uri.path));
  saved[0](document);
  assert.deepStrictEqual(changed, ["/prog.kpy.sm_80.asm"]);
  await commands.get("ktc.emit")();
  assert.match(beside.text, /^emit --kind llvm -g1 prog\.kpy --target-accelerator sm_90\n/);

  window.activeTextEditor = undefined; // nothing to run, and nothing breaks
  happened.length = 0;
  for (const name of ["ktc.run", "ktc.debug", "ktc.assembly"]) await commands.get(name)();
  assert.deepStrictEqual(happened, []);
  await commands.get("ktc.restart")();
  starts = false;
  await extension.activate({ subscriptions: [] });
  await extension.deactivate();
  assert.deepStrictEqual(happened.map((one) => one[0]), ["restart", "client", "warning", "stop"]);
  fs.rmSync(folder, { recursive: true });
  console.log("the extension in a stand-in for the editor: good");
}
main().catch((error) => {
  console.error(error);
  process.exit(1);
});

// The extension: starts `ktc lsp`, and has commands that run ktc.

import { execFile } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient, TransportKind } from "vscode-languageclient/node";
import { origins } from "./origins";

const KINDS = ["ast", "ir", "llvm", "llvm-opt", "asm"];
const SCHEME = "ktc-emitted";
let client: LanguageClient | undefined;

const setting = (name: string) => vscode.workspace.getConfiguration("ktc").get<string>(name) ?? "";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const emitted = new Emitted();
  context.subscriptions.push(
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, emitted),
    vscode.window.onDidChangeTextEditorSelection((event) => emitted.mark(event.textEditor)),
    vscode.workspace.onDidSaveTextDocument((document) => emitted.saved(document)),
    vscode.commands.registerCommand("ktc.run", () => inTerminal("run")),
    vscode.commands.registerCommand("ktc.debug", () => inTerminal("debug")),
    vscode.commands.registerCommand("ktc.check", () => inTerminal("check", ".")),
    vscode.commands.registerCommand("ktc.test", () => inTerminal("test", ".")),
    vscode.commands.registerCommand("ktc.emit", () => showStage(emitted)),
    vscode.commands.registerCommand("ktc.assembly", () => emitted.show("asm", setting("target"))),
    vscode.commands.registerCommand("ktc.restart", () => client?.restart()),
  );
  const run = { command: setting("path"), args: ["lsp"], transport: TransportKind.stdio };
  client = new LanguageClient("ktc", "ktc", { run, debug: run }, { documentSelector: [{ language: "kpy" }] });
  try {
    await client.start();
  } catch {
    vscode.window.showWarningMessage("ktc: the language server does not start; try pip install 'ktc[lsp]'");
  }
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

function current(): vscode.TextDocument | undefined {
  const document = vscode.window.activeTextEditor?.document;
  return document?.languageId === "kpy" ? document : undefined;
}

async function inTerminal(command: string, target?: string): Promise<void> {
  const document = current();
  if (!document && !target) return;
  await document?.save();
  const name = target ?? (document as vscode.TextDocument).fileName;
  const terminal = vscode.window.terminals.find((one) => one.name === "ktc") ?? vscode.window.createTerminal("ktc");
  terminal.show(true);
  terminal.sendText([setting("path"), command, JSON.stringify(name)].join(" "));
}

async function showStage(emitted: Emitted): Promise<void> {
  const kind = await vscode.window.showQuickPick(KINDS, { title: "Stage" });
  const target = kind && (await vscode.window.showInputBox({ title: "Target (empty: the host)", value: setting("target") }));
  if (kind && target !== undefined) await emitted.show(kind, target);
}

// What ktc emits for a file, in a document that is read only, with the lines of the cursor's line marked.
class Emitted implements vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly shown = new Map<string, vscode.Uri>();
  private readonly decoration = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor("editor.findMatchHighlightBackground"),
    isWholeLine: true,
  });

  provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const { file, kind, target } = JSON.parse(uri.query) as { file: string; kind: string; target: string };
    const words = ["emit", "--kind", kind, "-g1", path.basename(file)];
    if (target) words.push("--target-accelerator", target);
    return new Promise((resolve) =>
      execFile(setting("path"), words, { cwd: path.dirname(file), maxBuffer: 1 << 26 }, (error, out, said) =>
        resolve(error ? said || String(error) : out),
      ),
    );
  }

  async show(kind: string, target: string): Promise<void> {
    const document = current();
    const editor = vscode.window.activeTextEditor;
    if (!document || !editor) return;
    await document.save();
    const query = JSON.stringify({ file: document.fileName, kind, target });
    const title = `${path.basename(document.fileName)}.${target || "host"}.${kind}`;
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${title}`, query });
    this.shown.set(document.fileName, uri);
    await vscode.window.showTextDocument(uri, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true });
    this.mark(editor);
  }

  saved(document: vscode.TextDocument): void {
    const uri = this.shown.get(document.fileName);
    if (uri) this.changed.fire(uri);
  }

  mark(editor: vscode.TextEditor): void {
    const uri = this.shown.get(editor.document.fileName);
    const beside = uri && vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === uri.toString());
    if (!beside) return;
    const line = editor.selection.active.line + 1;
    const found = origins(beside.document.getText(), path.basename(editor.document.fileName));
    const ranges = found.flatMap((from, index) => (from === line ? [new vscode.Range(index, 0, index, 0)] : []));
    beside.setDecorations(this.decoration, ranges);
    if (ranges.length) beside.revealRange(ranges[0], vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }
}

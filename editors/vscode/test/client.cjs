// Loads the built extension into a stand-in for VS Code in which one plan is open:
//
//     node client.cjs BUNDLE PLAN trusted|untrusted COMMAND...
//
// Writes a line of JSON for each thing that the extension did. Lines on standard input are what the user does. The
// stand-in knows by name what the extension and the client library cannot do without; all else is an empty stub.
const { readFileSync } = require("node:fs");
const Module = require("node:module");
const { dirname } = require("node:path");
const { createInterface } = require("node:readline");
const { fileURLToPath, pathToFileURL } = require("node:url");

const [, , bundle, plan, trust, ...command] = process.argv;
const say = (...words) => process.stdout.write(`${JSON.stringify(words)}\n`);
const disposable = () => ({ dispose() {} });

/** Members that are known, and stubs for all others: a class, or a function that gives something to dispose of. */
function known(members) {
  return new Proxy(members, {
    get(target, key) {
      if (!(key in target) && typeof key === "string" && key !== "then") {
        target[key] = /^[A-Z]/.test(key) ? class {} : disposable;
      }
      return target[key];
    },
  });
}

class Uri {
  constructor(text) {
    Object.assign(this, { text, scheme: new URL(text).protocol.slice(0, -1), fsPath: fileURLToPath(text) });
    this.path = this.fsPath;
  }
  static parse = (text) => new Uri(text);
  static file = (path) => new Uri(pathToFileURL(path).href);
  toString = () => this.text;
}

class EventEmitter {
  listeners = [];
  event = (listener) => (this.listeners.push(listener), disposable());
  fire = (value) => this.listeners.forEach((listener) => listener(value));
  dispose() {}
}

class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: disposable };
  cancel() {}
  dispose() {}
}

class Disposable {
  static from = disposable;
  dispose() {}
}

class TabInputText {
  constructor(uri) {
    this.uri = uri;
  }
}

class CodeActionKind {
  static Empty = new CodeActionKind();
  append = () => this;
}

class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}

const uri = Uri.file(plan);
const text = readFileSync(plan, "utf8");
const document = { uri, languageId: "planc", version: 1, getText: () => text, fileName: plan, isClosed: false };
const commands = {};
const settingsChanged = new EventEmitter();
const trustGranted = new EventEmitter();
const settings = { command };
const shown = (at, found) => say("diagnostics", ...(found ?? []).map((one) => one.code?.value ?? one.code ?? one.message));

const vscode = known({
  CancellationTokenSource,
  CodeActionKind,
  Diagnostic,
  Disposable,
  EventEmitter,
  LogLevel: { Off: 0, Trace: 1, Debug: 2, Info: 3, Warning: 4, Error: 5 },
  TabInputText,
  Uri,
  version: "1.91.0",
  env: known({ language: "en", appName: "stand-in" }),
  commands: known({
    registerCommand(name, run) {
      commands[name] = run;
      return disposable();
    },
  }),
  languages: known({
    match: (selector, { languageId, uri }) =>
      [selector].flat().some((one) => one.language === languageId && one.scheme === uri.scheme) ? 10 : 0,
    createDiagnosticCollection: () => known({ set: shown, has: () => false, get: () => [], forEach() {} }),
  }),
  window: known({
    createOutputChannel: () => known({}),
    showErrorMessage: async (message) => say("error", message),
    tabGroups: known({ all: [{ tabs: [{ input: new TabInputText(uri) }] }] }),
    visibleTextEditors: [],
  }),
  workspace: known({
    isTrusted: trust === "trusted",
    notebookDocuments: [],
    textDocuments: [document],
    workspaceFolders: [{ uri: Uri.file(dirname(plan)), name: "folder", index: 0 }],
    getConfiguration: (section) => ({ get: (key, otherwise) => (section === "planc" && settings[key]) ?? otherwise }),
    onDidChangeConfiguration: settingsChanged.event,
    onDidGrantWorkspaceTrust: trustGranted.event,
  }),
});

const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const extension = require(bundle);

(async () => {
  await extension.activate({ subscriptions: [] });
  say("active");
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === "restart") {
      await commands["planc.restart"]();
    } else if (line === "trust") {
      vscode.workspace.isTrusted = true;
      trustGranted.fire();
    } else {
      settings.command = JSON.parse(line);
      settingsChanged.fire({ affectsConfiguration: (key) => key === "planc.command" });
    }
    say("done", line);
  }
  await extension.deactivate();
  say("stopped");
})();

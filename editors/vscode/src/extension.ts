// Starts `planc lsp` for plan files, once for all folders of a window, and again when its command is changed.

import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { commands, window, workspace, type ExtensionContext } from "vscode";
import { LanguageClient, type ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;
// Starts and stops follow one another: a client cannot be stopped while it starts.
let turn: Promise<void> = Promise.resolve();

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    commands.registerCommand("planc.restart", restart),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("planc.command")) {
        void restart();
      }
    }),
    workspace.onDidGrantWorkspaceTrust(restart),
  );
  await restart();
}

export function deactivate(): Promise<void> {
  return inTurn(stop);
}

function restart(): Promise<void> {
  return inTurn(async () => {
    await stop();
    // Without trust, the colours of a plan are all that there is: planc reads further files that a plan names.
    if (workspace.isTrusted) {
      await start();
    }
  });
}

function inTurn(next: () => Promise<void>): Promise<void> {
  turn = turn.then(next, next);
  return turn;
}

async function start(): Promise<void> {
  const [command, ...args] = workspace.getConfiguration("planc").get<string[]>("command", ["planc", "lsp"]);
  if (!command) {
    void window.showErrorMessage("planc: the setting `planc.command` is empty");
    return;
  }
  const options: ServerOptions = { command: found(command), args };
  client = new LanguageClient("planc", "planc", options, { documentSelector: [{ language: "planc", scheme: "file" }] });
  try {
    await client.start();
  } catch {
    // The client has said by itself what went wrong.
    client = undefined;
    void window.showErrorMessage(
      'planc: there is no language server. Install it with `pip install "planc[lsp]"`, or set `planc.command`.',
    );
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  try {
    await running?.dispose();
  } catch {
    // A server that has died is stopped all the same.
  }
}

/** The program to start: a relative path is looked for in the first folder, a bare name by the system. */
function found(command: string): string {
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  if (folder && !isAbsolute(command) && /[\\/]/.test(command)) {
    const path = join(folder, command);
    return existsSync(path) ? path : command;
  }
  return command;
}

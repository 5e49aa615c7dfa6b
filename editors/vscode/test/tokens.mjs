// Reads a JSON list of texts on standard input, and writes for each its tokens as [text, scopes], as VS Code's own engine
// finds them. Line ends are no tokens.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

await oniguruma.loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
const grammarFile = new URL("../syntaxes/planc.tmLanguage.json", import.meta.url);
const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async () => textmate.parseRawGrammar(readFileSync(grammarFile, "utf8"), "planc.json"),
});
const grammar = await registry.loadGrammar("source.planc");

function tokens(text) {
  let state = textmate.INITIAL;
  return text.split("\n").map((line) => {
    const found = grammar.tokenizeLine(line, state);
    state = found.ruleStack;
    return found.tokens
      .map(({ startIndex, endIndex, scopes }) => [line.slice(startIndex, endIndex), scopes.slice(1)])
      .filter(([piece]) => piece);
  });
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(tokens)));

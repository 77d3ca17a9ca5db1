/**
 * What the compilers that Pawl supports say about programs that use the package as it is built: TypeScript 5.9 and 6.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type TypeScript from "typescript";
import { expect, test } from "vitest";
import { resolveCheckTool } from "../support/check-tools.js";

const world = `import { createAgent, defineTool, type AnyModel, type ToolContext } from "pawl";
import { z } from "zod";
declare const model: AnyModel;
type Deps = { readonly db: { readonly find: (id: string) => string } };
declare const deps: Deps;
const find = defineTool({
  name: "find",
  description: "Finds an order",
  input: z.object({ id: z.string() }),
  execute: ({ id }, { deps }: ToolContext<Deps>) => deps.db.find(id),
});
const name = "a", description = "A";
`;

const mistakes = [
  "createAgent({ modell: model });",
  'createAgent({ model, sytemPrompt: "Be brief." });',
  "createAgent({ model: 5 });",
  'createAgent({ model, store: "sessions.db" });',
  "createAgent({ model, limits: { steps: 5 } });",
  "createAgent({ model, deps, tools: find });",
  "createAgent({ model, tools: [find] });",
  "createAgent({ model, deps: { mail: 1 }, tools: [find] });",
  'createAgent({ model, hooks: [{ name: "h", beforeToolcall: () => ({}) }] });',
  "createAgent({ model }).run(5);",
  'createAgent({ model }).session("s").answer("k", { type: "aprove" });',
  'if ((await createAgent({ model }).run("Go")).status === "done") find;',
  'console.log((await createAgent({ model }).run("Go")).error.message);',
  "defineTool({ name, input: z.object({}), execute: () => 1 });",
  "defineTool({ name, description, input: z.object({ id: z.string() }), execute: ({ nr }) => nr });",
];

const compilers = [
  { version: "5.9", file: () => resolveCheckTool("typescript-5.9/lib/typescript.js") },
  { version: "6.0", file: () => resolve("node_modules/typescript/lib/typescript.js") },
] as const;

for (const { version, file } of compilers)
  test(`TypeScript ${version} says in few words what is wrong, and where`, async () => {
    const ts = await load(file());
    expect(ts.versionMajorMinor).toBe(version);
    const files = new Map(
      mistakes.map((mistake, index) => [resolve(`test/types/mistake-${index}.ts`), `${world}${mistake}\nexport {};\n`]),
    );
    const found = [...diagnosticsOf(ts, files).values()];
    const texts = mistakes.map((mistake, index) => `${mistake}\n${indent(found[index] ?? "")}`);
    await expect(`${texts.join("\n\n")}\n`).toMatchFileSnapshot("mistakes.txt");
  });

// `npm run types` checks the claims with TypeScript 6.
test("TypeScript 5.9 accepts the claims about deps and the types of tools", async () => {
  const claims = resolve("test/types/deps.test.ts");
  const files = new Map([[claims, readFileSync(claims, "utf8")]]);
  expect([...diagnosticsOf(await load(compilers[0].file()), files).values()]).toEqual([""]);
});

// What a function returns must have an exported name, or programs cannot emit the declarations of what they export (TS2742). The program is
// outside of the package: within it, the compiler would name a file of the package.
test("a program can export what the package returns without naming the types", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "pawl-declarations-")));
  try {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(process.cwd(), join(folder, "node_modules/pawl"));
    const file = join(folder, "program.mts");
    const ts = await load(compilers[1].file());
    const files = new Map([[file, readFileSync("test/types/inferred.txt", "utf8")]]);
    const program = createProgram(ts, files, {
      declaration: true,
      preserveSymlinks: true,
      noEmit: false,
      types: [],
    });
    const source = program.getSourceFile(file);
    const found = [...program.getSemanticDiagnostics(source), ...program.getDeclarationDiagnostics(source)];
    expect(found.map((one) => describeDiagnostic(ts, one))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

async function load(path: string): Promise<typeof TypeScript> {
  return (await import(pathToFileURL(path).href)).default;
}

/** The diagnostics of each file, with the text that each is about. */
function diagnosticsOf(ts: typeof TypeScript, files: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const program = createProgram(ts, files);
  return new Map(
    [...files.keys()].map((path) => {
      const source = program.getSourceFile(path);
      const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
      return [path, found.map((diagnostic) => describeDiagnostic(ts, diagnostic)).join("\n")];
    }),
  );
}

function createProgram(
  ts: typeof TypeScript,
  files: ReadonlyMap<string, string>,
  more: TypeScript.CompilerOptions = {},
): TypeScript.Program {
  const { config } = ts.readConfigFile("tsconfig.json", ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, process.cwd());
  const host = ts.createCompilerHost({ ...options, ...more });
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path) ?? readFile(path);
  host.getSourceFile = (path, languageVersion, ...more) => {
    const text = files.get(path);
    return text === undefined
      ? getSourceFile(path, languageVersion, ...more)
      : ts.createSourceFile(path, text, languageVersion);
  };
  return ts.createProgram([...files.keys()], { ...options, ...more }, host);
}

function describeDiagnostic(
  ts: typeof TypeScript,
  { file, start = 0, length = 0, messageText }: TypeScript.Diagnostic,
) {
  return `at ${file?.text.slice(start, start + length)}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
}

function indent(text: string): string {
  return text.replace(/^/gm, "  ");
}

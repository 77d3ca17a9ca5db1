import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { createTokenEstimator } from "../../src/context/tokens.js";
import type { AnyTool, ToolContext } from "../../src/ports/tool.js";
import { compileTool } from "../../src/runtime/tools/compile-tools.js";
import { noToolData } from "../support/tool-data.js";

/** A folder with these files, removed when the test has finished. */
export function createTempFolder(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "pawl-tools-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

/** Runs a tool as the loop does: its input is checked first. A failure is its message after `Error: `. */
export async function runTool(
  tools: readonly AnyTool[],
  name: string,
  input: object,
  signal?: AbortSignal,
): Promise<string> {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool?.execute === undefined) throw new Error(`There is no tool ${name}.`);
  const validated = await compileTool(tool).validate(input as never);
  if (!validated.ok) return `Error: ${validated.issues.map((issue) => `${issue.path}: ${issue.message}`).join("; ")}`;
  try {
    return String(await awaitToolOutput(tool.execute(validated.value, createToolContext(signal))));
  } catch (error) {
    return String(error);
  }
}

/** The result of a tool, also if it shows something while it runs. */
export async function awaitToolOutput(returned: unknown): Promise<unknown> {
  const output = await returned;
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) return output;
  const iterator = (output as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await iterator.next();
    if (done === true) return value;
  }
}

export function createToolContext(signal = new AbortController().signal): ToolContext {
  return {
    signal,
    toolCallId: "call",
    callKey: "run/0/0",
    idempotencyKey: "run/0/0",
    attempt: 1,
    sessionId: "session",
    runId: "run",
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    deps: undefined,
    params: {},
    messages: [],
    data: noToolData,
    services: { usage: null, output: null, compaction: null, tokens: createTokenEstimator() },
    progress: () => {},
    step: () => Promise.reject(new Error("no steps here")),
    ask: () => Promise.reject(new Error("no questions here")),
    sleep: () => Promise.reject(new Error("no sleeps here")),
    waitFor: () => Promise.reject(new Error("no waits here")),
  };
}

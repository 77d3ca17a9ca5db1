/**
 * Calls of tools that a page knows by type: their parts are `tool-NAME`, typed by `InferUiTools`, instead of `dynamic-tool`.
 *
 * 1. Whether a part is typed depends only on the tool's name, so a part keeps its type.
 * 2. A typed part has the whole output, or an error: a truncated string would not have the output's type.
 * 3. The input of a typed part fits the tool's schema. If it may not fit, the part has an error and no input, because AI SDK 7
 *    presents every input that it receives as one of the tool's type.
 */
import type { FullOutput } from "../../core/index.js";
import type { UiChunk } from "./chunks.js";

/** Reads the whole of a truncated output. Null if it is too large for a page, or no longer stored. */
export type ReadWhole = (full: FullOutput) => Promise<string | null>;

/** Converts a chunk to the chunks that the page gets. Called with the chunks of one message, in order. */
export type ChunkTyper = (chunk: UiChunk) => readonly UiChunk[] | Promise<readonly UiChunk[]>;

type CallChunk = Extract<UiChunk, { readonly toolCallId: string }>;

const tooLarge = "The output is too large for this page.";

/** @param names the tools that the page knows by type */
export function createChunkTyper(names: ReadonlySet<string>, readWhole: ReadWhole): ChunkTyper {
  const typedCalls = new Set<string>();
  /** The tool names of calls with an invalid input, by `callKey`. */
  const invalidCalls = new Map<string, string>();

  return (chunk) => {
    if (!("toolCallId" in chunk)) return [chunk];
    const { toolCallId } = chunk;
    const name = findToolName(chunk);
    if (name !== undefined && names.has(name)) typedCalls.add(toolCallId);
    if (!typedCalls.has(toolCallId)) return [stripSource(chunk)];
    switch (chunk.type) {
      case "tool-input-available":
        invalidCalls.delete(toolCallId);
        if (chunk.invalid !== true) break;
        invalidCalls.set(toolCallId, chunk.toolName);
        return [];
      case "tool-output-error": {
        const toolName = invalidCalls.get(toolCallId);
        if (toolName === undefined) break;
        return [{ type: "tool-input-error", toolCallId, toolName, input: null, errorText: chunk.errorText }];
      }
      case "tool-output-available":
        return typeOutput(chunk, readWhole);
    }
    return [toTyped(chunk)];
  };
}

function findToolName(chunk: CallChunk): string | undefined {
  if ("toolName" in chunk) return chunk.toolName;
  return "source" in chunk ? chunk.source?.toolName : undefined;
}

function stripSource<Chunk extends CallChunk>(chunk: Chunk): Chunk {
  return omit(chunk, "source", "invalid");
}

function toTyped<Chunk extends CallChunk>(chunk: Chunk): Chunk {
  return omit(chunk, "source", "invalid", "dynamic");
}

/** @param names the optional fields to remove */
function omit<Chunk extends CallChunk>(chunk: Chunk, ...names: readonly string[]): Chunk {
  return Object.fromEntries(Object.entries(chunk).filter(([name]) => !names.includes(name))) as Chunk;
}

type OutputChunk = Extract<UiChunk, { readonly type: "tool-output-available" }>;

function typeOutput(chunk: OutputChunk, readWhole: ReadWhole): readonly UiChunk[] | Promise<readonly UiChunk[]> {
  const output = chunk.source?.output;
  if (output?.type !== "text") return [toTyped(chunk)];
  if (output.full !== undefined) return loadWholeOutput(chunk, output.full, readWhole);
  if (output.cut !== "json") return [toTyped(chunk)];
  return chunk.preliminary === true ? [] : [createTooLargeError(chunk)];
}

async function loadWholeOutput(
  chunk: OutputChunk,
  full: FullOutput,
  readWhole: ReadWhole,
): Promise<readonly UiChunk[]> {
  const text = await readWhole(full);
  return [text === null ? createTooLargeError(chunk) : { ...toTyped(chunk), output: parseWhole(text, full) }];
}

function createTooLargeError({ toolCallId }: OutputChunk): UiChunk {
  return { type: "tool-output-error", toolCallId, errorText: tooLarge };
}

/** Logs written before version 0.2 do not record whether the output was text. */
function parseWhole(text: string, { type }: FullOutput): unknown {
  if (type === "text") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export async function* typeChunks(
  chunks: AsyncIterable<UiChunk>,
  typer: ChunkTyper,
): AsyncGenerator<UiChunk, void, undefined> {
  for await (const chunk of chunks) yield* await typer(chunk);
}

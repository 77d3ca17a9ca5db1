/**
 * Calls of tools that a page knows by type: parts `tool-NAME`, as `InferUiTools` types them, in place of `dynamic-tool`.
 *
 * 1. The name of a call decides, so a part has one type for its whole life.
 * 2. The output of a typed part is whole, or the part has an error: a text that was cut is not what its type says.
 * 3. The input of a typed part fits the tool's schema. A part whose input may not fit has an error, and no input: version 7 of the AI SDK
 *    would show any input that it is sent as one of the type.
 */
import type { FullOutput } from "../../index.js";
import type { UiChunk } from "./chunks.js";

/** Reads the whole of an output that was cut. Null if it is too large for a page, or not stored any more. */
export type ReadWhole = (full: FullOutput) => Promise<string | null>;

/** Makes the chunks that a page gets. To be given the chunks of one message, in order. */
export type ChunkTyper = (chunk: UiChunk) => readonly UiChunk[] | Promise<readonly UiChunk[]>;

type CallChunk = Extract<UiChunk, { readonly toolCallId: string }>;

const tooLarge = "The output is too large for this page.";

/** @param names the tools that the page knows by type */
export function createChunkTyper(names: ReadonlySet<string>, readWhole: ReadWhole): ChunkTyper {
  const typedCalls = new Set<string>();
  /** Their tools, by call. */
  const invalidCalls = new Map<string, string>();

  return (chunk) => {
    if (!("toolCallId" in chunk)) return [chunk];
    const { toolCallId } = chunk;
    const name = toolNameOf(chunk);
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

function toolNameOf(chunk: CallChunk): string | undefined {
  if ("toolName" in chunk) return chunk.toolName;
  return "source" in chunk ? chunk.source?.toolName : undefined;
}

/** Without what stays on the server. */
function stripSource<Chunk extends CallChunk>(chunk: Chunk): Chunk {
  return omit(chunk, "source", "invalid");
}

function toTyped<Chunk extends CallChunk>(chunk: Chunk): Chunk {
  return omit(chunk, "source", "invalid", "dynamic");
}

/** Without optional fields. */
function omit<Chunk extends CallChunk>(chunk: Chunk, ...names: readonly string[]): Chunk {
  return Object.fromEntries(Object.entries(chunk).filter(([name]) => !names.includes(name))) as Chunk;
}

type OutputChunk = Extract<UiChunk, { readonly type: "tool-output-available" }>;

function typeOutput(chunk: OutputChunk, readWhole: ReadWhole): readonly UiChunk[] | Promise<readonly UiChunk[]> {
  const output = chunk.source?.output;
  if (output?.type !== "text") return [toTyped(chunk)];
  if (output.full !== undefined) return wholeOutput(chunk, output.full, readWhole);
  if (output.cut !== "json") return [toTyped(chunk)];
  return chunk.preliminary === true ? [] : [failed(chunk)];
}

async function wholeOutput(chunk: OutputChunk, full: FullOutput, readWhole: ReadWhole): Promise<readonly UiChunk[]> {
  const text = await readWhole(full);
  return [text === null ? failed(chunk) : { ...toTyped(chunk), output: parseWhole(text, full) }];
}

function failed({ toolCallId }: OutputChunk): UiChunk {
  return { type: "tool-output-error", toolCallId, errorText: tooLarge };
}

/** Logs of versions before 0.2 do not say whether the output was a text. */
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

/**
 * A run with everything that a stream has to get over, and watchers whose connections are cut: after so many bytes, or
 * exactly between two frames.
 */
import { createAgent, type ModelDelta, type ModelFailure, type ModelRequest, type Store } from "../../src/index.js";
import { followSession, type StreamFrame, type StreamView } from "../../src/server/client/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createChance } from "../core/chance.js";
import { createEchoTool } from "../support/agents.js";
import { createPayTool } from "../support/pay-tool.js";

const networkFailure: ModelFailure = { kind: "network", message: "The model's connection was cut." };

type AttemptId = Pick<ModelRequest, "modelCallIndex" | "attempt">;

/** What a run is like: whether it says so much at once that whoever follows it in its process lags behind. */
export type RunKind = { readonly lags: boolean };

const textsOfAttempts = new Map<string, string>();

/** What the model says in an attempt of a step. Each frame is compared with it, so it is put together once. */
function textOfAttempt(id: AttemptId, kind: RunKind): string {
  const key = [id.modelCallIndex, id.attempt, kind.lags].join();
  const known = textsOfAttempts.get(key);
  if (known !== undefined) return known;
  const text = createTextOfAttempt(id, kind);
  textsOfAttempts.set(key, text);
  return text;
}

function createTextOfAttempt({ modelCallIndex, attempt }: AttemptId, { lags }: RunKind): string {
  const words = modelCallIndex === 3 ? (lags ? 2_200 : 400) : modelCallIndex === 2 && attempt === 1 ? 25 : 60;
  return Array.from({ length: words }, (_, index) => `${modelCallIndex}.${attempt}.${index} `).join("");
}

/** Calls a tool; fails and tries again, then pays, which needs an approval; says too much, so it is compacted; ends. */
async function* streamDeltas(request: AttemptId, kind: RunKind): AsyncGenerator<ModelDelta> {
  const { modelCallIndex, attempt } = request;
  yield { kind: "start" };
  yield { kind: "text-start", id: "t" };
  for (const text of textOfAttempt(request, kind).split(/(?<= )/)) {
    if (!kind.lags || modelCallIndex !== 3) await new Promise((resolve) => setImmediate(resolve));
    // Deltas with metadata are not joined, so many of them wait at once.
    yield { kind: "text-delta", id: "t", text, ...(kind.lags ? { providerMetadata: { test: { many: true } } } : {}) };
  }
  if (modelCallIndex === 2 && attempt === 1) return yield { kind: "error", failure: networkFailure };
  yield { kind: "text-end", id: "t" };
  const name = [undefined, "echo", "pay", "echo"][modelCallIndex];
  if (name !== undefined) yield { kind: "tool-call", id: `c${modelCallIndex}`, name, input: '{"cents":1}' };
  yield { kind: "done", finishReason: { unified: name === undefined ? "stop" : "tool-calls" }, usage: {} };
}

export function createTalker(store: Store, kind: RunKind) {
  const model = createScriptedModel((request) => ({ deltas: streamDeltas(request, kind) as never }), { record: false });
  const summarizer = createScriptedModel(() => ({ text: "It was talked about." }), { record: false });
  return createAgent({
    name: "talker",
    store,
    model,
    tools: [createEchoTool().tool, createPayTool([])],
    compaction: { contextWindow: kind.lags ? 8_000 : 1_500, model: summarizer },
    retry: { baseDelayMs: 1, maxDelayMs: 1 },
  });
}

/** Where a connection is cut: after so many bytes of its answer, or after so many whole frames. */
export type Cut = { readonly by: "bytes" | "frames"; readonly after: number };

export function createRandomCuts(seed: number): readonly Cut[] {
  const chance = createChance(seed);
  return Array.from({ length: chance.below(7) }, () =>
    chance.oneIn(2) ? { by: "bytes", after: 1 + chance.below(20_000) } : { by: "frames", after: 1 + chance.below(120) },
  );
}

/** A `fetch` whose connections are cut in turn; when the list is used up, none is. */
function createCuttingFetch(cuts: readonly Cut[]) {
  const remainingCuts = [...cuts];
  const counted = { connections: 0, losses: 0 };
  const cutting: typeof fetch = async (input, init) => {
    counted.connections += 1;
    const cut = remainingCuts.shift();
    const response = await fetch(input, init).catch((error: unknown) => {
      counted.losses += 1;
      throw error;
    });
    if (cut === undefined || response.body === null) return response;
    let remaining = cut.after;
    const transform = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const length = cut.by === "bytes" ? remaining : findFrameEnd(chunk, remaining);
        remaining -= cut.by === "bytes" ? chunk.byteLength : countFrames(chunk);
        if (remaining > 0) return controller.enqueue(chunk);
        counted.losses += 1;
        controller.enqueue(chunk.subarray(0, length));
        controller.error(new Error("cut"));
      },
    });
    return new Response(response.body.pipeThrough(transform), { status: response.status, headers: response.headers });
  };
  return { fetch: cutting, counted };
}

const newline = 10;

function countFrames(chunk: Uint8Array): number {
  let count = 0;
  for (let index = 1; index < chunk.length; index += 1)
    if (chunk[index] === newline && chunk[index - 1] === newline) count += 1;
  return count;
}

/** The bytes of so many frames. The server writes whole frames. */
function findFrameEnd(chunk: Uint8Array, frames: number): number {
  let count = 0;
  for (let index = 1; index < chunk.length; index += 1) {
    if (chunk[index] !== newline || chunk[index - 1] !== newline) continue;
    count += 1;
    if (count === frames) return index + 1;
  }
  return chunk.length;
}

const textOfParts = (parts: readonly { readonly type: string }[]) =>
  parts.map((part) => ("text" in part ? part.text : "")).join("");

export type WatchResult = { readonly events: readonly unknown[]; readonly types: ReadonlySet<string> };

/**
 * Follows a run to its end, with these cuts. @throws Error if it is told what does not fit, or if it had to connect again
 * without a cut
 */
export async function watchWithCuts(
  target: { readonly url: string; readonly token: string },
  kind: RunKind,
  cuts: readonly Cut[],
  onFrame: (frame: StreamFrame) => void = () => {},
): Promise<WatchResult> {
  const { fetch: cutting, counted } = createCuttingFetch(cuts);
  const events: unknown[] = [];
  const types = new Set<string>();
  const headers = { authorization: `Bearer ${target.token}` };
  let text = "";
  for await (const { frame, applied, view } of followSession({
    url: target.url,
    headers,
    fetch: cutting,
    retryMs: 1,
  })) {
    const { data } = frame;
    types.add(data.type);
    if (data.type === "bye" && data.why !== "end") counted.losses += 1;
    if (applied === "event") events.push(data);
    if (data.type === "message") checkMessage(data, kind, text);
    text = checkPartial(view, kind);
    onFrame(frame);
  }
  if (counted.connections > 1 + counted.losses)
    throw new Error(`It lost ${counted.losses} connections, and made ${counted.connections}.`);
  return { events, types };
}

function checkPartial(view: StreamView, kind: RunKind): string {
  const partial = view.partial();
  if (partial === null) return "";
  const text = textOfParts(partial.message.parts);
  if (!textOfAttempt(partial, kind).startsWith(text))
    throw new Error(`It holds ${JSON.stringify(text)}, which nobody has said.`);
  return text;
}

function checkMessage(event: Message, kind: RunKind, streamedText: string): void {
  const fullText = textOfParts(event.message.parts);
  if (fullText !== textOfAttempt(event, kind))
    throw new Error(`The message of step ${event.modelCallIndex} is not what was said.`);
  if (!fullText.startsWith(streamedText))
    throw new Error(`It held ${JSON.stringify(streamedText)} of another message.`);
}

type Message = Extract<StreamFrame["data"], { readonly type: "message" }>;

/**
 * A model that answers by chance: with text and calls, and with everything that providers do wrong.
 */
import type { FinishReason, ModelFailure } from "../../../src/core/data/message.js";
import type { Model, ModelDelta, ModelRequest } from "../../../src/ports/model.js";
import { assembleParts, formatAttempt } from "../../../src/testing/world/message-parts.js";
import type { SeededRandom } from "../../../src/testing/world/seeded-random.js";
import type { Process, World } from "../../../src/testing/world/world.js";

export type ModelHabits = {
  /** The names it calls. */
  readonly tools: readonly string[];
  /** The probability that an attempt fails, in one of many ways. */
  readonly fails: number;
  /** The probability that a stream repeats and numbers its deltas. */
  readonly stutters: number;
  /** Tokens of its context window, where that is small: then it does not say what it used, and conversations are summed up often. */
  readonly window: number | null;
  /** The probability that a call has a name that is nearly right, or arguments that are nearly JSON. */
  readonly slips?: number;
  /** Its provider caches prompts. */
  readonly hasCache?: boolean;
};

/** The model's id, and the agent whose model it is. */
type ModelIdentity = { readonly id?: string; readonly agent?: string };

export function createModel(
  world: World,
  process: () => Process,
  habits: ModelHabits,
  { id = "simulated", agent }: ModelIdentity = {},
): Model {
  const summarizer = createSummarizer(world, process);
  return {
    id,
    ...(habits.hasCache === true ? { cachesPrompts: true } : {}),
    async *stream(request, signal) {
      if (request.purpose === "compaction") {
        yield* summarizer.stream(request, signal);
        return;
      }
      world.record({
        type: "model_called",
        sessionId: request.sessionId,
        process: process().name,
        ...(agent === undefined ? {} : { agent }),
        request: { ...request, messages: [...request.messages] },
      });
      const { chance } = world;
      const heedsSignal = chance.happens(0.8);
      for (const piece of piecesOf(createReply(world, habits, request), chance)) {
        await world.turn(process(), "model", heedsSignal ? signal : undefined);
        if (heedsSignal && signal.aborted) return;
        for (const delta of piece) {
          if (delta === throwMarker) throw new Error("socket hang up");
          yield delta;
        }
      }
    },
  };
}

/** Sums up, mostly: it also fails, says nothing, says too much, and asks for tools. */
export function createSummarizer(world: World, process: () => Process): Model {
  const { chance } = world;
  return {
    id: "summarizer",
    async *stream({ sessionId, runId }, signal) {
      world.record({ type: "summary_asked", sessionId, process: process().name, runId });
      const roll = chance.below(12);
      await world.turn(process(), "model", signal);
      if (signal.aborted) return;
      if (roll === 0) yield { kind: "error", failure: { kind: "overloaded", message: "529", statusCode: 529 } };
      if (roll === 1) throw new Error("socket hang up");
      if (roll > 3)
        yield* toTextDeltas(
          "text",
          `## Keep\n- item ${world.nextNumber() % 5}\n## Summary\nshort ${world.nextNumber()}`,
        );
      if (roll === 3) yield* toTextDeltas("text", "at length ".repeat(2_000));
      if (roll === 4) yield createCall(world, ["look"], 1);
      yield { kind: "done", finishReason: { unified: "stop" }, usage: { inputTokens: 10, outputTokens: 5 } };
    },
  };
}

/** In the place of a delta: the stream throws. */
const throwMarker: ModelDelta = { kind: "start", model: "broken" };

function createReply(world: World, habits: ModelHabits, request: ModelRequest): readonly ModelDelta[] {
  const { chance } = world;
  const whole = createContent(world, habits, request);
  world.record({
    type: "model_meant",
    sessionId: request.sessionId,
    attempt: formatAttempt(request),
    parts: assembleParts(whole),
  });
  if (chance.happens(habits.fails)) return spoil(whole, request, chance, habits.window);
  if (chance.happens(habits.stutters)) return stuttered(numbered(whole, request), chance);
  return whole;
}

function createContent(
  world: World,
  { tools, window, slips }: ModelHabits,
  request: ModelRequest,
): readonly ModelDelta[] {
  const { chance } = world;
  const deltas: ModelDelta[] = [{ kind: "start" }];
  if (chance.happens(0.2)) deltas.push(...toTextDeltas("reasoning", `think ${world.nextNumber()}`));
  const canCall = request.tools.length > 0 && request.toolChoice !== "none";
  const calls = canCall && chance.happens(request.modelCallIndex < 4 ? 0.7 : 0.2) ? 1 + chance.below(4) : 0;
  if (calls === 0 || chance.happens(0.3)) deltas.push(...toTextDeltas("text", `say ${world.nextNumber()}`));
  for (let position = 1; position <= calls; position += 1) deltas.push(createCall(world, tools, position, slips));
  const unified: FinishReason["unified"] = chance.happens(0.04)
    ? chance.pick(["length", "content-filter", "other"] as const)
    : calls > 0
      ? "tool-calls"
      : "stop";
  const usage = window === null ? { inputTokens: 10, outputTokens: 5 } : {};
  deltas.push({ kind: "done", finishReason: { unified }, usage });
  return deltas;
}

function toTextDeltas(kind: "text" | "reasoning", text: string): readonly ModelDelta[] {
  const id = kind;
  const [first = "", second = ""] = text.split(/(?<= )/);
  return [
    { kind: `${kind}-start`, id },
    { kind: `${kind}-delta`, id, text: first },
    { kind: `${kind}-delta`, id, text: second },
    { kind: `${kind}-end`, id },
  ];
}

/** Ids that repeat, unknown tools and arguments that are no JSON come up too. */
function createCall(
  { chance, nextNumber: number }: World,
  tools: readonly string[],
  position: number,
  slips = 0,
): ModelDelta {
  const id = chance.happens(0.1) ? chance.pick(["", "same"]) : `call_${position}`;
  const name = chance.happens(0.03) ? "unknown" : chance.pick(tools);
  const n = number();
  if (slips > 0 && chance.happens(slips)) return { kind: "tool-call", id, ...createSlip(name, n, chance) };
  return { kind: "tool-call", id, name, input: chance.happens(0.03) ? `{"n": ${n}` : JSON.stringify({ n }) };
}

/** What can be mended: a name with another case or without its end, and what is nearly JSON. */
function createSlip(name: string, n: number, chance: SeededRandom): { readonly name: string; readonly input: string } {
  const [nearly, whole] = [chance.pick([name.toUpperCase(), name.slice(0, -1), `${name}s`]), JSON.stringify({ n })];
  const inputs = [whole, `{"n": ${n},}`, `\`\`\`json\n${whole}\n\`\`\``, `{"n": ${n} /* the number */}`, `{"m": ${n}}`];
  return { name: chance.happens(0.5) ? name : nearly, input: chance.pick(inputs) };
}

/** A stream that ends as streams should not. */
function spoil(
  whole: readonly ModelDelta[],
  request: ModelRequest,
  chance: SeededRandom,
  window: number | null,
): readonly ModelDelta[] {
  const prefix = whole.slice(0, chance.below(whole.length));
  switch (chance.below(window === null ? 9 : 10)) {
    case 0:
      return [...prefix, createFailure({ kind: "rate_limit", message: "429", statusCode: 429, retryAfterMs: 700 })];
    case 1:
      return [...prefix, createFailure({ kind: "network", message: "connection reset" })];
    case 2:
      return [createFailure({ kind: "overloaded", message: "529", statusCode: 529 })];
    case 3:
      return prefix;
    case 4:
      return [...prefix, throwMarker];
    case 5:
      return [{ kind: "start" }, { kind: "done", finishReason: { unified: "stop" }, usage: { inputTokens: 10 } }];
    case 6:
      return removeAt(numbered(whole, request), chance.below(whole.length - 1));
    case 7:
      return whole.map((delta) => ({ ...delta, attempt: request.attempt + 1 }));
    case 9:
      return [createFailure({ kind: "context_overflow", message: "too long", statusCode: 400 })];
    default:
      return [...whole.slice(0, -1), createFailure({ kind: "auth", message: "401", statusCode: 401 })];
  }
}

function removeAt<Item>(items: readonly Item[], place: number): readonly Item[] {
  return items.filter((_, index) => index !== place);
}

function createFailure(failure: ModelFailure): ModelDelta {
  return { kind: "error", failure, usage: { inputTokens: 10 } };
}

function numbered(deltas: readonly ModelDelta[], request: ModelRequest): readonly ModelDelta[] {
  const { sessionId, runId, modelCallIndex, attempt } = request;
  return deltas.map((delta, index) => ({ ...delta, sessionId, runId, modelCallIndex, attempt, seq: index + 1 }));
}

/** Each delta may come again, at once and later, after the end too. */
function stuttered(deltas: readonly ModelDelta[], chance: SeededRandom): readonly ModelDelta[] {
  const stutteredDeltas: ModelDelta[] = [];
  for (const delta of deltas) {
    stutteredDeltas.push(delta);
    while (chance.happens(0.3)) stutteredDeltas.push(chance.pick(stutteredDeltas));
  }
  return stutteredDeltas;
}

function piecesOf(deltas: readonly ModelDelta[], chance: SeededRandom): readonly (readonly ModelDelta[])[] {
  if (deltas.length < 2 || chance.happens(0.6)) return [deltas];
  const cut = chance.below(deltas.length);
  return [deltas.slice(0, cut), deltas.slice(cut)];
}

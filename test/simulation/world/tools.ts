/**
 * Tools of every kind of recovery, whose effects the world keeps: what took place is known, whoever died in between.
 */
import type { Json } from "../../../src/core/data/message.js";
import type { CanExecuteTool } from "../../../src/ports/permission.js";
import type { InputSchema, Reconciled, Tool, ToolContext } from "../../../src/ports/tool.js";
import { done } from "../../../src/runtime/tools/done.js";
import type { Process, World } from "../../../src/testing/world/world.js";
import { isCounted } from "./invariants-data.js";

/** What changed in the world, by idempotency key: what a service that honours such keys would answer again. */
export type Ledger = Map<string, string>;

export type Bench = {
  readonly world: World;
  readonly ledger: Ledger;
  readonly process: () => Process;
  /** The agent whose tools these are. */
  readonly agent?: string;
  /** Tools that ask check their input elsewhere. */
  readonly hasSlowSchemas?: boolean;
};

export type Input = { readonly n: number };

/** Looks at its input elsewhere, which takes its time. */
function slowSchema({ world, process }: Bench): InputSchema<Input> {
  const check = async (value: unknown) => {
    await world.turn(process(), "validation");
    const fits = typeof value === "object" && value !== null && "n" in value && typeof value.n === "number";
    return fits ? { success: true, value } : { success: false, error: new Error("n must be a number") };
  };
  return { jsonSchema: schema, validate: check };
}

const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
export const timeoutMs = 4_000;

/** Those that may take effect only once, whatever crashes. */
export const onceOnly: ReadonlySet<string> = new Set(["once", "checked", "guarded", "questioned", "deaf", "broken"]);
/** Those that somebody has to approve. */
export const approvalNeeded: ReadonlySet<string> = new Set(["guarded", "questioned"]);
/** Those that may not be used. */
export const forbidden: ReadonlySet<string> = new Set(["forbidden"]);

/** How often calls of these are tried again after they failed. */
export const retriesOf = { flaky: 3, hopeless: 2 } as const;

/** The tools of a process, by name. */
export function createTools(bench: Bench): readonly Tool<Input>[] {
  const { world } = bench;
  const asking = bench.hasSlowSchemas === true ? { input: slowSchema(bench) } : {};
  const tool = (name: string, more: Partial<Tool<Input>> = {}): Tool<Input> => ({
    name,
    description: name,
    input: schema,
    execute: (input, context) => work(bench, name, input, context, context.signal),
    ...more,
  });
  return [
    tool("look", { readOnly: true }),
    tool("keyed", { recover: "rerun" }),
    tool("once"),
    tool("unsure", { recover: "ask" }),
    tool("traceable", { recover: { reconcile: (call) => reconcile(bench, call) } }),
    tool("guarded", { needsApproval: true, ...asking }),
    tool("questioned", asking),
    tool("forbidden"),
    tool("checked", { input: slowSchema(bench) }),
    tool("alone", { sequential: true, recover: "rerun" }),
    tool("broken", {
      execute: async (input, context) => {
        await work(bench, "broken", input, context, context.signal);
        throw new Error("it broke");
      },
    }),
    tool("slow", {
      recover: "rerun",
      timeoutMs,
      execute: async (input, context) => {
        begin(bench, "slow", input, context, context.signal);
        await world.turn(bench.process(), "slow tool", context.signal);
        return context.signal.aborted ? failed(bench, context) : finish(bench, "slow", input, context);
      },
    }),
    tool("deaf", {
      timeoutMs,
      graceMs: 300,
      // Some go on long after the grace of an abort.
      execute: async (input, context) => {
        if (world.chance.happens(0.5)) return await work(bench, "deaf", input, context);
        begin(bench, "deaf", input, context);
        await world.turn(bench.process(), "slow tool");
        return finish(bench, "deaf", input, context);
      },
    }),
    tool("sudden", {
      recover: "rerun",
      execute: (input, context) => {
        begin(bench, "sudden", input, context);
        return finish(bench, "sudden", input, context);
      },
    }),
    tool("flaky", {
      recover: "rerun",
      retry: { attempts: retriesOf.flaky + 1, backoff: { baseMs: 200 } },
      execute: async (input, context) => {
        if (context.attempt >= 3) return await work(bench, "flaky", input, context, context.signal);
        begin(bench, "flaky", input, context, context.signal);
        await world.turn(bench.process(), "flaky tool", context.signal);
        settle(bench, context, null);
        throw new Error(`attempt ${context.attempt} failed`);
      },
    }),
    tool("hopeless", {
      recover: "rerun",
      retry: { attempts: retriesOf.hopeless + 1, backoff: { baseMs: 200 } },
      execute: async (input, context) => {
        begin(bench, "hopeless", input, context, context.signal);
        await world.turn(bench.process(), "hopeless tool", context.signal);
        settle(bench, context, null);
        throw new Error("it is of no use");
      },
    }),
    tool("flowing", {
      recover: "rerun",
      // Some return what they gave, others leave it at the last thing that they showed.
      execute: async function* (input, context) {
        begin(bench, "flowing", input, context, context.signal);
        yield `flowing begins ${input.n}`;
        await world.turn(bench.process(), "flowing works", context.signal);
        if (context.signal.aborted) failed(bench, context);
        const output = finish(bench, "flowing", input, context);
        yield output;
        return input.n % 2 === 0 ? output : undefined;
      },
    }),
    tool("finish", { recover: "rerun", execute: () => done("all done") }),
    { name: "outside", description: "outside", input: schema },
  ];
}

/**
 * The rules for `questioned` and `forbidden`; all else is allowed. Some answers take their time. The rules for some inputs of
 * `questioned` become stricter after the first question.
 */
export function createPermissions({ world, process, ledger }: Bench): CanExecuteTool {
  const { chance } = world;
  const asked = askedOf(ledger);
  return ({ tool, callKey, input }) => {
    const isStricter = asked.has(callKey) && isClosedLater(tool.name, input);
    if (tool.name === "questioned") asked.add(callKey);
    const permission =
      tool.name === "forbidden" || isStricter
        ? ({ verdict: "deny", reason: "nobody may" } as const)
        : tool.name !== "questioned"
          ? "allow"
          : ({ verdict: "ask", question: "May it?", ...(chance.happens(0.3) ? { expiresInMs: 2_000 } : {}) } as const);
    return chance.happens(0.8) ? permission : world.turn(process(), "policy").then(() => permission);
  };
}

/** Calls of `questioned` that were asked about, by whichever process. */
const askedIn = new WeakMap<Ledger, Set<string>>();

function askedOf(ledger: Ledger): Set<string> {
  const asked = askedIn.get(ledger) ?? new Set();
  askedIn.set(ledger, asked);
  return asked;
}

/** The rules deny this input once its call was asked about, so it never runs, whoever approves it. */
export function isClosedLater(tool: string, input: unknown): boolean {
  const n = typeof input === "object" && input !== null && "n" in input ? input.n : input;
  return tool === "questioned" && typeof n === "number" && n % 5 === 0;
}

export function begin(
  { world, process, agent }: Bench,
  tool: string,
  input: Input,
  context: ToolContext,
  signal?: AbortSignal,
): void {
  const { idempotencyKey: callKey, attempt, sessionId } = context;
  const { name } = process();
  const marks = {
    ...(signal === undefined ? {} : ({ heeds: true } as const)),
    ...(agent === undefined ? {} : { agent }),
  };
  if (isCounted({ input: input.n })) context.data.update("counted", (count) => Number(count ?? 0) + 1);
  world.note({ type: "tool_started", sessionId, process: name, callKey, tool, attempt, input: input.n, ...marks });
  signal?.addEventListener("abort", () => world.note({ type: "tool_signalled", sessionId, process: name, callKey }));
}

/** A turn until it takes effect, and one until it says so. */
async function work(
  bench: Bench,
  tool: string,
  input: Input,
  context: ToolContext,
  signal?: AbortSignal,
): Promise<Json> {
  const { world, process } = bench;
  begin(bench, tool, input, context, signal);
  await world.turn(process(), `${tool} works`, signal);
  if (signal?.aborted === true) return failed(bench, context);
  const output = finish(bench, tool, input, context, false);
  await world.turn(process(), `${tool} answers`, signal);
  settle(bench, context, output);
  return output;
}

type CallOf = Pick<ToolContext, "idempotencyKey" | "sessionId">;

/** @returns the text */
export function settle<Text extends string | null>(
  { world, process }: Bench,
  { idempotencyKey: callKey, sessionId }: CallOf,
  text: Text,
): Text {
  const output = text === null ? null : ({ type: "text", text } as const);
  world.note({ type: "tool_settled", sessionId, process: process().name, callKey, output });
  return text;
}

function finish(bench: Bench, tool: string, input: Input, context: ToolContext, settles = true): string {
  const { world, ledger } = bench;
  const { idempotencyKey: callKey, sessionId } = context;
  const known = tool === "keyed" || tool === "traceable" ? ledger.get(callKey) : undefined;
  if (known === undefined) world.note({ type: "tool_acted", sessionId, callKey, tool, input: input.n });
  const output = known ?? `${tool} did ${input.n}`;
  ledger.set(callKey, output);
  if (settles) settle(bench, context, output);
  return output;
}

function failed(bench: Bench, context: ToolContext): never {
  settle(bench, context, null);
  throw new Error("stopped by its signal");
}

async function reconcile(bench: Bench, call: CallOf): Promise<Reconciled> {
  const { world, ledger, process } = bench;
  const { idempotencyKey: callKey } = call;
  await world.turn(process(), "reconcile");
  const output = ledger.get(callKey);
  if (output !== undefined) {
    settle(bench, call, output);
    return { status: "finished", output };
  }
  return { status: world.chance.pick(["not_started", "unknown"] as const) };
}

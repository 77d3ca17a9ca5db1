/**
 * Tools of every kind of recovery, whose effects the world keeps: what took place is known, whoever died in between.
 */
import type { Json } from "../../../src/core/data/message.js";
import type { CanExecuteTool } from "../../../src/ports/permission.js";
import type { InputSchema, Reconciled, Tool, ToolContext } from "../../../src/ports/tool.js";
import { done } from "../../../src/runtime/tools/done.js";
import type { Process, World } from "../../../src/testing/world/world.js";
import { isCounted } from "./invariants-data.js";

/** What changed in the world, by idempotency key: what a service that honors such keys would answer again. */
export type Ledger = Map<string, string>;

export type ToolDeps = {
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
function createSlowSchema({ world, process }: ToolDeps): InputSchema<Input> {
  const check = async (value: unknown) => {
    await world.turn(process(), "validation");
    const isValid = typeof value === "object" && value !== null && "n" in value && typeof value.n === "number";
    return isValid ? { success: true, value } : { success: false, error: new Error("n must be a number") };
  };
  return { jsonSchema: inputSchema, validate: check };
}

const inputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
export const timeoutMs = 4_000;

/** Those that may take effect only once, whatever crashes. */
export const onceOnly: ReadonlySet<string> = new Set(["once", "checked", "guarded", "questioned", "deaf", "broken"]);
/** Those that somebody has to approve. */
export const approvalNeeded: ReadonlySet<string> = new Set(["guarded", "questioned"]);
/** Those that may not be used. */
export const forbidden: ReadonlySet<string> = new Set(["forbidden"]);

/** How often calls of these are tried again after they failed. */
export const retryCounts = { flaky: 3, hopeless: 2 } as const;

/** The tools of a process, by name. */
export function createTools(deps: ToolDeps): readonly Tool<Input>[] {
  const { world } = deps;
  const slowInput = deps.hasSlowSchemas === true ? { input: createSlowSchema(deps) } : {};
  const tool = (name: string, overrides: Partial<Tool<Input>> = {}): Tool<Input> => ({
    name,
    description: name,
    input: inputSchema,
    execute: (input, context) => runInTurns(deps, name, input, context, context.signal),
    ...overrides,
  });
  return [
    tool("look", { readOnly: true }),
    tool("keyed", { recover: "rerun" }),
    tool("once"),
    tool("unsure", { recover: "ask" }),
    tool("traceable", { recover: { reconcile: (call) => reconcile(deps, call) } }),
    tool("guarded", { needsApproval: true, ...slowInput }),
    tool("questioned", slowInput),
    tool("forbidden"),
    tool("checked", { input: createSlowSchema(deps) }),
    tool("alone", { sequential: true, recover: "rerun" }),
    tool("broken", {
      execute: async (input, context) => {
        await runInTurns(deps, "broken", input, context, context.signal);
        throw new Error("it broke");
      },
    }),
    tool("slow", {
      recover: "rerun",
      timeoutMs,
      execute: async (input, context) => {
        recordStart(deps, "slow", input, context, context.signal);
        await world.turn(deps.process(), "slow tool", context.signal);
        return context.signal.aborted ? stopBySignal(deps, context) : takeEffect(deps, "slow", input, context);
      },
    }),
    tool("deaf", {
      timeoutMs,
      graceMs: 300,
      // Some go on long after the grace of an abort.
      execute: async (input, context) => {
        if (world.chance.happens(0.5)) return await runInTurns(deps, "deaf", input, context);
        recordStart(deps, "deaf", input, context);
        await world.turn(deps.process(), "slow tool");
        return takeEffect(deps, "deaf", input, context);
      },
    }),
    tool("sudden", {
      recover: "rerun",
      execute: (input, context) => {
        recordStart(deps, "sudden", input, context);
        return takeEffect(deps, "sudden", input, context);
      },
    }),
    tool("flaky", {
      recover: "rerun",
      retry: { attempts: retryCounts.flaky + 1, backoff: { baseMs: 200 } },
      execute: async (input, context) => {
        if (context.attempt >= 3) return await runInTurns(deps, "flaky", input, context, context.signal);
        recordStart(deps, "flaky", input, context, context.signal);
        await world.turn(deps.process(), "flaky tool", context.signal);
        recordOutput(deps, context, null);
        throw new Error(`attempt ${context.attempt} failed`);
      },
    }),
    tool("hopeless", {
      recover: "rerun",
      retry: { attempts: retryCounts.hopeless + 1, backoff: { baseMs: 200 } },
      execute: async (input, context) => {
        recordStart(deps, "hopeless", input, context, context.signal);
        await world.turn(deps.process(), "hopeless tool", context.signal);
        recordOutput(deps, context, null);
        throw new Error("it is of no use");
      },
    }),
    tool("flowing", {
      recover: "rerun",
      // Some return what they gave, others leave it at the last thing that they showed.
      execute: async function* (input, context) {
        recordStart(deps, "flowing", input, context, context.signal);
        yield `flowing begins ${input.n}`;
        await world.turn(deps.process(), "flowing works", context.signal);
        if (context.signal.aborted) stopBySignal(deps, context);
        const output = takeEffect(deps, "flowing", input, context);
        yield output;
        return input.n % 2 === 0 ? output : undefined;
      },
    }),
    tool("finish", { recover: "rerun", execute: () => done("all done") }),
    { name: "outside", description: "outside", input: inputSchema },
  ];
}

/**
 * The rules for `questioned` and `forbidden`; all else is allowed. Some answers take their time. The rules for some inputs of
 * `questioned` become stricter after the first question.
 */
export function createPermissions({ world, process, ledger }: ToolDeps): CanExecuteTool {
  const { chance } = world;
  const askedCalls = getAskedCalls(ledger);
  return ({ tool, callKey, input }) => {
    const isStricter = askedCalls.has(callKey) && isDeniedAfterAsking(tool.name, input);
    if (tool.name === "questioned") askedCalls.add(callKey);
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
const askedCallsByLedger = new WeakMap<Ledger, Set<string>>();

function getAskedCalls(ledger: Ledger): Set<string> {
  const askedCalls = askedCallsByLedger.get(ledger) ?? new Set();
  askedCallsByLedger.set(ledger, askedCalls);
  return askedCalls;
}

/** The rules deny this input once its call was asked about, so it never runs, whoever approves it. */
export function isDeniedAfterAsking(tool: string, input: unknown): boolean {
  const n = typeof input === "object" && input !== null && "n" in input ? input.n : input;
  return tool === "questioned" && typeof n === "number" && n % 5 === 0;
}

export function recordStart(
  { world, process, agent }: ToolDeps,
  tool: string,
  input: Input,
  context: ToolContext,
  signal?: AbortSignal,
): void {
  const { callKey, attempt, sessionId } = context;
  const { name } = process();
  const marks = {
    ...(signal === undefined ? {} : ({ heeds: true } as const)),
    ...(agent === undefined ? {} : { agent }),
  };
  if (isCounted({ input: input.n })) context.data.update("counted", (count) => Number(count ?? 0) + 1);
  world.record({ type: "tool_started", sessionId, process: name, callKey, tool, attempt, input: input.n, ...marks });
  signal?.addEventListener("abort", () => world.record({ type: "tool_signalled", sessionId, process: name, callKey }));
}

/** A turn until it takes effect, and one until it says so. */
async function runInTurns(
  deps: ToolDeps,
  tool: string,
  input: Input,
  context: ToolContext,
  signal?: AbortSignal,
): Promise<Json> {
  const { world, process } = deps;
  recordStart(deps, tool, input, context, signal);
  await world.turn(process(), `${tool} works`, signal);
  if (signal?.aborted === true) return stopBySignal(deps, context);
  const output = takeEffect(deps, tool, input, context, false);
  await world.turn(process(), `${tool} answers`, signal);
  recordOutput(deps, context, output);
  return output;
}

type CallIdentity = Pick<ToolContext, "callKey" | "idempotencyKey" | "sessionId">;

/** @returns the text */
export function recordOutput<Text extends string | null>(
  { world, process }: ToolDeps,
  { callKey, sessionId }: CallIdentity,
  text: Text,
): Text {
  const output = text === null ? null : ({ type: "text", text } as const);
  world.record({ type: "tool_settled", sessionId, process: process().name, callKey, output });
  return text;
}

function takeEffect(deps: ToolDeps, tool: string, input: Input, context: ToolContext, shouldRecord = true): string {
  const { world, ledger } = deps;
  const { callKey, idempotencyKey, sessionId } = context;
  const recordedOutput = tool === "keyed" || tool === "traceable" ? ledger.get(idempotencyKey) : undefined;
  if (recordedOutput === undefined) world.record({ type: "tool_acted", sessionId, callKey, tool, input: input.n });
  const output = recordedOutput ?? `${tool} did ${input.n}`;
  ledger.set(idempotencyKey, output);
  if (shouldRecord) recordOutput(deps, context, output);
  return output;
}

function stopBySignal(deps: ToolDeps, context: ToolContext): never {
  recordOutput(deps, context, null);
  throw new Error("stopped by its signal");
}

async function reconcile(deps: ToolDeps, call: CallIdentity): Promise<Reconciled> {
  const { world, ledger, process } = deps;
  await world.turn(process(), "reconcile");
  const output = ledger.get(call.idempotencyKey);
  if (output !== undefined) {
    recordOutput(deps, call, output);
    return { status: "finished", output };
  }
  return { status: world.chance.pick(["not_started", "unknown"] as const) };
}

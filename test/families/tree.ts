/**
 * Families of agents for tests: a person is asked at any depth, beside siblings. What the models say follows from the step
 * alone, so that any number of agent objects can carry the same sessions on.
 */
import {
  type AgentOptions,
  type AnyTool,
  createAgent,
  defineTool,
  type PendingApproval,
  type RunResult,
  type StreamItem,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedCall } from "../../src/testing/scripted-model.js";

/** What an agent does: it calls all of its tools at once, and then it is done. */
export type Member = {
  readonly name: string;
  readonly tools?: readonly AnyTool[];
  /** Agents behind tools of the same names. */
  readonly members?: readonly Member[];
  /** More calls of agents, each by name: by default each is called once. */
  readonly calls?: readonly string[];
};

export type FamilyOptions = Partial<Pick<AgentOptions, "store" | "clock" | "limits" | "leaseMs">>;

/** An agent whose family is made anew: another one of the same members can carry its sessions on. */
export function createFamily(member: Member, options: FamilyOptions = {}): ReturnType<typeof createAgent> {
  const { name, tools = [], members = [] } = member;
  const agents = members.map((one) =>
    createFamily(one, {}).asTool({ description: `Hands work to ${one.name}.`, name: one.name }),
  );
  const names = member.calls ?? [...tools.map((one) => one.name), ...members.map((one) => one.name)];
  const createInput = (toolName: string): ScriptedCall["input"] =>
    members.some((one) => one.name === toolName) ? { task: `Do it, ${toolName}.` } : {};
  const model = createScriptedModel(
    ({ modelCallIndex }) =>
      modelCallIndex === 1 && names.length > 0
        ? { calls: names.map((toolName) => ({ name: toolName, input: createInput(toolName) ?? {} })) }
        : { text: `${name} is done.` },
    { record: false },
  );
  return createAgent({ name, model, tools: [...tools, ...agents], ...options });
}

/** A tool that a person must allow. */
export function createApprovalTool(name: string, execute: () => unknown = () => `${name} is done`): AnyTool {
  return defineTool({
    name,
    description: name,
    input: { type: "object" },
    needsApproval: true,
    recover: "rerun",
    execute,
  });
}

/** A tool that runs until the test lets it go on. */
export function createGatedTool(name: string): {
  readonly tool: AnyTool;
  readonly open: () => void;
  readonly reached: Promise<void>;
} {
  let open = () => {};
  let reach = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const tool = defineTool({
    name,
    description: name,
    input: { type: "object" },
    recover: "rerun",
    async execute() {
      reach();
      await opened;
      return `${name} is done`;
    },
  });
  return { tool, open, reached };
}

/** The questions of a run that waits for a person; an error if it does not. */
export function requireApprovals(result: RunResult | null): readonly PendingApproval[] {
  if (result?.status === "awaiting_human") return result.approvals;
  throw new Error(`The run does not wait for a person: ${JSON.stringify(result)}`);
}

export const listNames = (approvals: readonly PendingApproval[]) => approvals.map(({ name }) => name);

export async function collectItems(items: AsyncIterable<StreamItem>): Promise<readonly StreamItem[]> {
  const all: StreamItem[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Takes items until one fits. */
export async function collectUntil(
  items: AsyncIterable<StreamItem>,
  isMatch: (item: StreamItem) => boolean,
): Promise<readonly StreamItem[]> {
  const collected: StreamItem[] = [];
  for await (const item of items) {
    collected.push(item);
    if (isMatch(item)) return collected;
  }
  throw new Error("The stream ended before.");
}

/** Looks at each turn of the event loop. How many turns something takes depends on the machine, so the limit is a time. */
export async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 30_000; !(await condition()); ) {
    if (performance.now() > end) throw new Error("It did not come to that.");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

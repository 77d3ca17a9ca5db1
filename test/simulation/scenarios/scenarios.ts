/**
 * Reference scenarios: the answers of a model and the requests of people, the same in every life of a run.
 */
import type { RunResult } from "../../../src/core/view/outcome.js";
import { PawlError } from "../../../src/errors.js";
import type { ModelRequest } from "../../../src/ports/model.js";
import type { ApprovalDecision } from "../../../src/runtime/agent/answer-types.js";
import type { Handoff } from "../../../src/runtime/agent/handoffs.js";
import { type ClientOptions, createClient } from "../../../src/runtime/api/client.js";
import { pendingApprovals, type StoredApproval } from "../../../src/runtime/api/stored-approvals.js";
import { runToEnd as attend, type Respond } from "../../../src/testing/crash/run-to-end.js";
import type { ScriptedStep } from "../../../src/testing/scripted-model.js";
import type { Process } from "../../../src/testing/world/world.js";

import { agentNameAt, toTransferName, twinNameAt } from "../world/family.js";

type Agent = Process["agent"];

export type Scenario = {
  readonly name: string;
  /** How many levels of agents there are below the first one; 0 unless given. */
  readonly depth?: number;
  /** Whether each agent can hand its session over to another one, and that one back. */
  readonly hasTwins?: boolean;
  /** What the other one is shown; all unless given. */
  readonly filter?: Handoff["filter"];
  /** How many pairs of crashes are played, drawn by chance; every pair unless given. */
  readonly pairs?: number;
  /** Whether somebody watches the session and those below it, from the first life to the last. */
  readonly isWatched?: boolean;
  /** The model's answer. It depends on the request alone, so every life gets the same answers. */
  readonly answer: (request: ModelRequest, agent: string) => ScriptedStep;
  /**
   * Makes all requests of the people, from the start. Every life makes the same requests. @returns the results of the
   * runs
   */
  readonly attend: (agent: Agent, sessionId: string) => Promise<readonly RunResult[]>;
  /** Called when no process can continue by itself. */
  readonly whenStill?: (agent: Agent, sessionId: string, outside: ClientOptions) => Promise<unknown>;
};

function attendRun(agent: Agent, sessionId: string, runId: string, onPolicy: ApprovalDecision = { type: "approve" }) {
  const answers: { readonly [why: string]: ApprovalDecision } = {
    recovery: { type: "rerun" },
    tool: { type: "reply", value: 7 },
  };
  const resultFromOutside: ApprovalDecision = { type: "result", output: "given from outside" };
  const respond: Respond = ({ why }) => (why === "external" ? resultFromOutside : (answers[why] ?? onPolicy));
  return attend({ agent }, { sessionId, runId, input: `do ${runId}`, respond });
}

let number = 0;

/** @param n what the tool does, if that depends on its input */
function call(name: string, n?: number) {
  number += 1;
  return { name, id: `id${number}`, input: { n: n ?? number } };
}

function steps(...script: readonly ScriptedStep[]): Scenario["answer"] {
  return ({ modelCallIndex }) => script[modelCallIndex - 1] ?? { text: "Nothing more." };
}

const tools: Scenario = {
  name: "tools of every kind of recovery, side by side and alone",
  answer: steps(
    { text: "First", calls: [call("look"), call("keyed"), call("once")] },
    { calls: [call("alone"), call("traceable"), call("broken"), call("forbidden")] },
    { text: "Done." },
  ),
  attend: async (agent, sessionId) => [await attendRun(agent, sessionId, "run")],
};

const failing: ScriptedStep = {
  text: "Half of",
  error: { kind: "overloaded", message: "529", statusCode: 529 },
  usage: { inputTokens: 3 },
};
const answers = steps({ calls: [call("keyed")] }, { text: "Whole." });

const retries: Scenario = {
  name: "attempts that fail",
  answer: (request, agent) => (request.attempt === 1 ? failing : answers(request, agent)),
  attend: async (agent, sessionId) => [await attendRun(agent, sessionId, "run")],
};

const repeated: Scenario = {
  name: "tools that fail now and then, or always",
  answer: steps({ calls: [call("flaky"), call("keyed")] }, { calls: [call("hopeless")] }, { text: "Done." }),
  attend: async (agent, sessionId) => [await attendRun(agent, sessionId, "run")],
};

const people: Scenario = {
  name: "approvals, edits, results from outside",
  answer: steps(
    { calls: [call("guarded"), call("questioned"), call("look")] },
    { calls: [call("outside"), call("unsure")] },
    { text: "Done." },
  ),
  // A changed input counts as an approval of the call with that input.
  attend: async (agent, sessionId) => [
    await attendRun(agent, sessionId, "run", { type: "modify", input: { n: 1_001 } }),
  ],
};

const queue: Scenario = {
  name: "a steer, and a run that waits for the one before it",
  answer: ({ runId, modelCallIndex }) =>
    runId === "run" && modelCallIndex === 1 ? { calls: [keyed] } : { text: `Done with ${runId}.` },
  async attend(agent, sessionId) {
    const session = agent.session(sessionId);
    const first = attendRun(agent, sessionId, "run");
    await session.send("do next", { runId: "next" });
    await session.send("and mind this", { runId: "steer", mode: "steer" });
    return [await first, await attendRun(agent, sessionId, "next")];
  },
};
const keyed = call("keyed");

const interrupt: Scenario = {
  name: "another request takes the place of the run under way",
  answer: ({ runId, modelCallIndex }) =>
    runId === "run" && modelCallIndex === 1 ? { calls: [keyed, call("guarded")] } : { text: `Done with ${runId}.` },
  async attend(agent, sessionId) {
    const first = () => agent.run("do run", { sessionId, runId: "run" });
    if ((await first()).status === "awaiting_human")
      await agent.session(sessionId).send("do instead", { runId: "instead", mode: "interrupt" });
    return [await first(), await attendRun(agent, sessionId, "instead")];
  },
};

const toolSteps: Scenario = {
  name: "tools with steps: in a sequence, side by side, once only, with failures and large values",
  answer: steps(
    { calls: [call("stepped", 0), call("stepped", 2), call("stepped", 3)] },
    { calls: [call("stepped", 4), call("stepped", 5), call("persistent", 0)] },
    { text: "Done." },
  ),
  attend: async (agent, sessionId) => [await attendRun(agent, sessionId, "run")],
};

const questions: Scenario = {
  name: "tools that ask: between steps, two questions at once, and beside a step",
  answer: steps({ calls: [call("asking", 0), call("asking", 1)] }, { calls: [call("asking", 2)] }, { text: "Done." }),
  attend: async (agent, sessionId) => [await attendRun(agent, sessionId, "run")],
};

const family: Scenario = {
  name: "agents behind tools, one of which asks",
  depth: 1,
  answer: ({ sessionId, modelCallIndex, messages }) => {
    if (modelCallIndex > 1) return { text: `Done after ${messages.length}.` };
    return { calls: sessionId.startsWith(family.name) ? delegated : [keyedBelow, guardedBelow] };
  },
  attend: async (agent, sessionId) => [await attendRun(agent, sessionId, "run")],
};
const delegated = [call("delegate"), call("delegate"), call("look")];
const [keyedBelow, guardedBelow] = [call("keyed"), call("guarded")];

/** Answers what waits one by one, the last first, and lets the session go on in between. */
async function attendLastFirst(agent: Agent, sessionId: string, runId: string): Promise<RunResult> {
  const session = agent.session(sessionId);
  const run = () => agent.run(`do ${runId}`, { sessionId, runId });
  let result = await run();
  while (result.status === "awaiting_human") {
    const one = result.approvals.at(-1);
    if (one === undefined) throw new Error("The run waits, and nothing is asked.");
    const decision: ApprovalDecision = one.why === "tool" ? { type: "reply", value: 7 } : { type: "approve" };
    const question = one.questionId === undefined ? {} : { questionId: one.questionId };
    await session.answer(one.callKey, decision, question);
    result = await session.resume().catch((error) => {
      if (error instanceof PawlError && error.code === "run_finished") return run();
      throw error;
    });
  }
  return result.runId === runId ? result : await run();
}

const levels: Scenario = {
  name: "three levels of agents that ask at once, watched",
  depth: 2,
  pairs: 100,
  isWatched: true,
  answer: ({ modelCallIndex }, agent) => (modelCallIndex > 1 ? { text: `${agent} is done.` } : (asked[agent] ?? {})),
  attend: async (agent, sessionId) => [await attendLastFirst(agent, sessionId, "run")],
};
const asked: { readonly [agent: string]: ScriptedStep } = {
  [agentNameAt(0)]: { calls: [call("delegate"), call("guarded")] },
  [agentNameAt(1)]: { calls: [call("delegate"), call("guarded")] },
  [agentNameAt(2)]: { calls: [call("asking", 1)] },
};

const held: Scenario = {
  name: "a tool and a child's tool that go on running while they ask",
  depth: 1,
  pairs: 100,
  answer: ({ modelCallIndex }, agent) =>
    modelCallIndex > 1
      ? { text: `${agent} is done.` }
      : { calls: agent === agentNameAt(0) ? holdingCalls : [holdingBelow] },
  attend: async (agent, sessionId) => [await attendRun(agent, sessionId, "run")],
  // The last question is answered first, whichever session asks.
  whenStill: async (_agent, top, outside) => {
    const waiting: StoredApproval[] = [];
    for await (const one of pendingApprovals(outside.store))
      if (one.sessionId === top || one.session.top === top) waiting.push(one);
    const one = waiting.at(-1);
    if (one?.questionId === undefined) return;
    const { sessionId, callKey, questionId } = one;
    await createClient(outside).session(sessionId).answer(callKey, { type: "reply", value: 7 }, { questionId });
  },
};
const holdingCalls = [call("delegate"), call("holding", 1)];
const holdingBelow = call("holding", 2);

const handoffs: Scenario = {
  name: "handoffs there and back, beside tools and an approval",
  hasTwins: true,
  answer: steps(
    { calls: [call(toTransferName(twinNameAt(0))), call("keyed"), call("guarded")] },
    { calls: [call("look"), call(toTransferName(agentNameAt(0))), call(toTransferName(agentNameAt(0)))] },
    { text: "Done." },
  ),
  attend: async (agent, sessionId) => [await attendRun(agent, sessionId, "run")],
};

const filtered: Scenario = {
  ...handoffs,
  name: "handoffs there and back, each with a filter",
  filter: ({ messages, to }) => [{ role: "user", parts: [{ type: "text", text: `now ${to}` }] }, ...messages.slice(-2)],
};

const abort: Scenario = {
  name: "an abort while tools run, and the run after it",
  answer: ({ runId }) => (runId === "run" ? { calls: slowCalls } : { text: "After." }),
  attend: async (agent, sessionId) => [
    await attendRun(agent, sessionId, "run"),
    await attendRun(agent, sessionId, "next"),
  ],
  whenStill: async (agent, sessionId) => {
    const session = agent.session(sessionId);
    const state = await session.state();
    if (state.status === "tool_running" && state.runId === "run") await session.abort();
  },
};
const slowCalls = [call("slow"), call("once"), call("alone")];

export const scenarios: readonly Scenario[] = [
  tools,
  retries,
  repeated,
  people,
  queue,
  interrupt,
  toolSteps,
  questions,
  family,
  levels,
  held,
  handoffs,
  filtered,
  abort,
];

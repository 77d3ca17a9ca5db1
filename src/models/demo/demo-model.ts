/**
 * A model for trying Pawl without an API key. It follows rules, requests real tool calls, and answers from their results.
 *
 * It is not an LLM, and says so in its first answer.
 */
import type { Model, ModelDelta, ModelRequest } from "../../ports/model.js";
import { type CallResult, type ConversationTurn, type PlannedCall, readTurns } from "./conversation.js";
import { createFolderPlan, folderTools, type Plan, type PlanOutcome, type PlanStep } from "./plan.js";
import { formatAnswer } from "./report.js";
import { createToolPlan } from "./tool-plan.js";

/**
 * The model `demo`: rule-based and deterministic. It has two plans for a request.
 *
 * With the tools of `createFileTools` and `createShellTool`, it works on the folder. First it lists the folder. Then it searches
 * for the strings or reads the files that the request names. It writes a report if the request asks for one, and answers with what
 * it has found. Two forms of request spell out a call instead: `Replace "colour" with "color" in notes.txt` and `run: npm test`.
 * In the command line's plan mode, it shows its plan before it changes anything.
 *
 * Without any of these tools, it calls each tool that the request names, once it knows the tool's inputs. For "Find order 1041 and refund
 * it", it calls `find_order`, and then `refund` with the amount that was found.
 *
 * It keeps no state between model calls: the next step follows from the conversation alone.
 */
export function createDemoModel(): Model {
  return {
    id: "demo",
    async *stream(request, signal) {
      for (const delta of createDeltas(request)) {
        if (signal.aborted) return;
        yield delta;
      }
    },
  };
}

function* createDeltas(request: ModelRequest): Generator<ModelDelta> {
  const { say, calls } = createReply(request);
  const inputs = calls.map((call) => JSON.stringify(call.input));
  yield { kind: "start", model: "demo" };
  yield { kind: "text-start", id: "text" };
  for (const word of say.split(/(?<=\s)(?=\S)/)) yield { kind: "text-delta", id: "text", text: word };
  yield { kind: "text-end", id: "text" };
  for (const [index, { name }] of calls.entries())
    yield { kind: "tool-call", id: `demo_${request.modelCallIndex}_${index + 1}`, name, input: inputs[index] ?? "" };
  yield {
    kind: "done",
    finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop" },
    usage: {
      inputTokens: approximateTokens((request.systemPrompt ?? "") + JSON.stringify(request.messages)),
      outputTokens: approximateTokens(say + inputs.join("")),
    },
  };
}

/** Follows the plan of each request through the results after it. Returns the reply to the last request. */
function createReply({ messages, tools, toolChoice }: ModelRequest): PlanStep {
  const offered = new Set(toolChoice === "none" ? [] : tools.map((tool) => tool.name));
  let reply: PlanStep = {
    say: formatAnswer([], ["I no longer see a request in this conversation. Please ask again."]),
    calls: [],
  };
  // The agent of the command line always has folder tools.
  const hasOnlyOtherTools = tools.length > 0 && !tools.some((tool) => folderTools.has(tool.name));
  const nameOption = hasOnlyOtherTools ? "PAWL_MODEL=provider/name" : "--model provider/name";
  let earlier: readonly CallResult[] = [];
  for (const [turn, { request, own, steps, wantsPlan }] of readTurns(messages).entries()) {
    const plan = hasOnlyOtherTools
      ? createToolPlan(request, tools, earlier)
      : createFolderPlan({ request, own, earlier, wantsPlan });
    const next = followPlan(plan, steps, offered);
    if ("say" in next) {
      reply = next;
    } else {
      const shownOption = turn === 0 ? nameOption : null;
      reply = { say: formatAnswer([...next.results, ...next.changed], next.notes, shownOption), calls: [] };
      earlier = next.results.filter((result) => !result.isError);
    }
  }
  return reply;
}

/**
 * Returns the first step that has no results yet, or the end of the plan.
 *
 * The results of a step are found by the names of its tools. So the plan also continues if another model began the work, or if
 * other tools were offered then.
 */
function followPlan(
  plan: Plan,
  steps: ConversationTurn["steps"],
  offered: ReadonlySet<string>,
): PlanStep | PlanOutcome {
  let fromStep = 0;
  let next = plan.next();
  while (next.done !== true) {
    const { say, calls } = next.value;
    const names = new Set(calls.map((call) => call.name));
    const stepIndex = steps.findIndex(
      (results, index) => index >= fromStep && results.some(({ name }) => names.has(name)),
    );
    const offeredCalls = calls.filter((call) => offered.has(call.name));
    if (stepIndex === -1 && offeredCalls.length > 0) return { say, calls: offeredCalls };
    if (stepIndex !== -1) fromStep = stepIndex + 1;
    const results = steps[stepIndex] ?? [];
    const missing = calls.filter(({ name }) => !offered.has(name) && !results.some((result) => result.name === name));
    next = plan.next([...results, ...missing.map(createMissingToolResult)]);
  }
  return next.value;
}

function createMissingToolResult({ name, input }: PlannedCall): CallResult {
  const hint = name === "shell" ? " On the command line, --allow-shell offers it." : "";
  return { name, input, text: `I am not offered this tool here.${hint}`, isError: true };
}

/** An estimate: about four characters make a token. */
function approximateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

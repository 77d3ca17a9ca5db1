/**
 * A model for trying things out: it follows rules, asks for real tool calls, and answers from their results.
 *
 * It is not an LLM, and says so wherever it says what it is.
 */
import { textOf } from "../../core/data/message.js";
import type { Model, ModelDelta, ModelRequest } from "../../ports/model.js";
import { type PlannedCall, readTurns } from "./conversation.js";
import { type Outcome, planTurn } from "./plan.js";
import { parseRequest, type Request } from "./request.js";
import { toolsOf } from "./tasks.js";

/**
 * The model `demo`: rule-based and deterministic. It needs the tools of `createFileTools`, and `shell` for commands, and keeps nothing between calls:
 * what comes next follows from the conversation alone.
 *
 * It understands: list files, count files, lines and occurrences, find a text, find TODO and FIXME comments, read a file, summarise a file or a folder by
 * headings and exports, write a report of what it found to a file, replace a text, `run: <command>`, and several of these joined by "then".
 */
export function createDemoModel(): Model {
  return {
    id: "demo",
    async *stream(request, signal) {
      for (const delta of deltasOf(request)) {
        if (signal.aborted) return;
        yield delta;
      }
    },
  };
}

function* deltasOf(request: ModelRequest): Generator<ModelDelta> {
  const { text, calls } = replyTo(request);
  yield { kind: "start", model: "demo" };
  yield { kind: "text-start", id: "text" };
  for (const piece of text.match(/\s*\S+\s*?/g) ?? []) yield { kind: "text-delta", id: "text", text: piece };
  yield { kind: "text-end", id: "text" };
  let outputCharacters = text.length;
  for (const [index, call] of calls.entries()) {
    const input = JSON.stringify(call.input);
    outputCharacters += input.length;
    yield { kind: "tool-call", id: `demo_${request.modelCallIndex}_${index + 1}`, name: call.name, input };
  }
  yield {
    kind: "done",
    finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop" },
    usage: { inputTokens: tokensOf(charactersOf(request)), outputTokens: tokensOf(outputCharacters) },
  };
}

type Reply = { readonly text: string; readonly calls: readonly PlannedCall[] };

function replyTo(request: ModelRequest): Reply {
  const turns = readTurns(request.messages);
  const asked: Request = parseRequest(turns.at(-1)?.request ?? "");
  switch (asked.type) {
    case "help":
      return { text: help, calls: [] };
    case "unclear":
      return { text: `I do not understand "${asked.part}".\n\n${help}`, calls: [] };
    case "tasks": {
      const missing = asked.tasks.flatMap(toolsOf).find((name) => !isAvailable(name, request));
      return missing === undefined
        ? replyToOutcome(planTurn(asked.tasks, turns))
        : { text: missingText(missing), calls: [] };
    }
  }
}

function replyToOutcome(outcome: Outcome): Reply {
  switch (outcome.type) {
    case "step":
      return { text: outcome.step.say, calls: outcome.step.calls };
    case "done":
      return { text: outcome.findings.map((finding) => finding.answer).join("\n\n"), calls: [] };
    case "failed": {
      const done = outcome.findings.map((finding) => finding.answer);
      const skipped = outcome.skipped === 0 ? [] : ["I did not go on with what was to come after it."];
      return { text: [...done, `This did not work: ${outcome.reason}`, ...skipped].join("\n\n"), calls: [] };
    }
    case "lost":
      return { text: "The conversation does not go on as I planned it, so I stop here. Please ask again.", calls: [] };
  }
}

function isAvailable(name: string, { tools, toolChoice }: ModelRequest): boolean {
  return toolChoice !== "none" && tools.some((tool) => tool.name === name);
}

function missingText(name: string): string {
  const how = name === "shell" ? " On the command line, --allow-shell offers it." : "";
  return `For this I need the tool \`${name}\`, which I am not offered here.${how}`;
}

const help = `I am Pawl's demo model, not an LLM: I follow rules, and understand only requests such as these:

- List the TypeScript files under src
- Count the files in docs · Count the lines of README.md · Count the occurrences of "retry" in src
- Find "createAgent" in src · Find the TODO comments under src
- Read README.md · Read lines 10-20 of package.json
- Summarise README.md
- Replace "colour" with "color" in README.md
- run: npm test
- … then write a report to REPORT.md, and several of these joined by "then"

For anything else connect a real model: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY and install its package (npm install @ai-sdk/anthropic, @ai-sdk/openai or @ai-sdk/google), start a local server such as Ollama, or name one with --model provider/name.`;

/** About four characters make a token; an estimate, as good as any for a model without one. */
function tokensOf(characters: number): number {
  return Math.ceil(characters / 4);
}

function charactersOf({ systemPrompt = "", messages }: ModelRequest): number {
  return messages.reduce((sum, message) => sum + textOf(message).length, systemPrompt.length);
}

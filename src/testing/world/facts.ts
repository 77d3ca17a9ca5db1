/**
 * What happened in a simulation, in the one order in which it did. Invariants are checked against this.
 */
import type { ToolOutput } from "../../core/data/message.js";
import type { MessageDelta, ModelRequest } from "../../ports/model.js";
import type { Commit } from "../../ports/store.js";

export type Happening =
  | {
      readonly type: "process";
      readonly process: string;
      readonly what: "started" | "killed" | "stopped" | "continued" | "gone";
    }
  | { readonly type: "jumped"; readonly ms: number }
  /** In the store: somebody took the lease. `late`: the request was under way for so long that the time it named had passed. */
  | {
      readonly type: "claimed";
      readonly process: string;
      readonly epoch: number;
      readonly late: boolean;
      readonly setting: number;
    }
  /** A process learns that it holds the lease, as asked for by its clocks: `setting` is how far apart they were. */
  | ({ readonly type: "holding" } & Held)
  | ({ readonly type: "renewed" } & Held)
  /** In the store: a commit was applied. */
  | { readonly type: "written"; readonly process: string; readonly epoch: number; readonly commit: Commit }
  /** A process learns that its commit is durable. */
  | {
      readonly type: "confirmed";
      readonly process: string;
      readonly epoch: number;
      readonly seq: number | null;
      readonly released: boolean;
    }
  /** A process learns that a write under its lease was not made, or that nobody knows. */
  | { readonly type: "refused"; readonly process: string; readonly epoch: number; readonly why: string }
  /** A process gets no answer to a request. */
  | { readonly type: "unanswered"; readonly process: string; readonly what: string }
  | { readonly type: "posted"; readonly process: string; readonly id: string }
  | { readonly type: "model_called"; readonly process: string; readonly request: ModelRequest }
  /** What the model means to say in an attempt, part by part, whatever comes of the stream. */
  | { readonly type: "model_meant"; readonly attempt: string; readonly parts: readonly string[] }
  | { readonly type: "delta"; readonly process: string; readonly delta: MessageDelta }
  /** An observer of a process is told of an event. */
  | { readonly type: "told"; readonly process: string; readonly event: string; readonly seq: number }
  | {
      readonly type: "tool_started";
      readonly process: string;
      readonly callKey: string;
      readonly tool: string;
      readonly attempt: number;
      readonly input: unknown;
      /** It looks at its signal. */
      readonly heeds?: true;
    }
  /** The signal of a call that looks at it was aborted: the run stops, its time is over, or its process gave up. */
  | { readonly type: "tool_signalled"; readonly process: string; readonly callKey: string }
  /** The world changed. */
  | { readonly type: "tool_acted"; readonly callKey: string; readonly tool: string; readonly input: number }
  /** What a tool gave, or what the world says became of its call. */
  | {
      readonly type: "tool_settled";
      readonly process: string;
      readonly callKey: string;
      readonly output: ToolOutput | null;
    }
  | { readonly type: "asked"; readonly process: string; readonly id: number; readonly what: string }
  | { readonly type: "got"; readonly process: string; readonly id: number; readonly outcome: string };

type Held = {
  readonly process: string;
  readonly epoch: number;
  readonly askedAt: number;
  readonly setting: number;
};

/** `at`: milliseconds since the beginning, whatever the wall clock said. */
export type Fact = Happening & { readonly at: number };

export type FactOf<Type extends Fact["type"]> = Extract<Fact, { readonly type: Type }>;

/** One line for each of the last facts, for people; what streams is left out. */
export function traceOf(facts: readonly Fact[], lines: number): string {
  const shown = facts.flatMap((fact, index) => (isSilent(fact) ? [] : [`${index} ${lineOf(fact)}`]));
  const cut = shown.length > lines ? [`… ${shown.length - lines} before`] : [];
  return [...cut, ...shown.slice(-lines)].join("\n");
}

type SilentFact = FactOf<"delta" | "model_meant" | "renewed" | "told">;

function isSilent(fact: Fact): fact is SilentFact {
  const { type } = fact;
  return type === "delta" || type === "model_meant" || type === "renewed" || type === "told";
}

function lineOf(fact: Exclude<Fact, SilentFact>): string {
  switch (fact.type) {
    case "process":
      return `${fact.process} ${fact.what}`;
    case "jumped":
      return `the clock jumps by ${fact.ms} ms`;
    case "claimed":
      return `  store: ${fact.process} claims, epoch ${fact.epoch}${fact.late ? ", late" : ""}`;
    case "holding":
      return `${fact.process} holds epoch ${fact.epoch}`;
    case "written":
      return `  store: ${fact.process} writes ${writtenText(fact)}`;
    case "confirmed":
      return `${fact.process} learns: ${fact.seq === null ? "" : `durable up to ${fact.seq}`}${fact.released ? " lease given back" : ""}`;
    case "refused":
      return `${fact.process} is refused: ${fact.why}`;
    case "unanswered":
      return `${fact.process} gets no answer to '${fact.what}'`;
    case "posted":
      return `  store: ${fact.process} posts ${fact.id}`;
    case "model_called": {
      const { runId, modelCallIndex, attempt, messages } = fact.request;
      return `${fact.process} calls the model: ${runId}/${modelCallIndex} attempt ${attempt}, ${messages.length} messages`;
    }
    case "tool_started":
      return `${fact.process} runs ${fact.tool} ${fact.callKey} attempt ${fact.attempt} (${JSON.stringify(fact.input)})`;
    case "tool_signalled":
      return `${fact.process} signals ${fact.callKey}`;
    case "tool_acted":
      return `  world: ${fact.tool} ${fact.callKey} takes effect (${fact.input})`;
    case "tool_settled":
      return `${fact.callKey} settles in ${fact.process}: ${fact.output === null ? "failed" : JSON.stringify(fact.output)}`;
    case "asked":
      return `somebody asks ${fact.process}: ${fact.what} [${fact.id}]`;
    case "got":
      return `${fact.process} says [${fact.id}]: ${fact.outcome}`;
  }
}

function writtenText({ epoch, commit }: FactOf<"written">): string {
  const { expectedSeq, events, consume = [], release, state } = commit;
  const named = events.map((event, index) => {
    const call = "callKey" in event && event.callKey !== undefined ? ` ${event.callKey}` : "";
    const ending = "outcome" in event ? ` ${event.outcome}` : "reason" in event ? ` ${event.reason}` : "";
    return `${expectedSeq + index + 1} ${event.type}${call}${ending}`;
  });
  const consumed = consume.length > 0 ? `, consumes ${consume.join(" ")}` : "";
  return `[${named.join(", ")}] epoch ${epoch}${consumed}${release === true ? ", releases" : ""} → ${state.status}`;
}

/**
 * The story of a failure, for people: what happened, with one line for each fact.
 *
 * 1. The fact that a failure is about is shown, with the facts before and after it. A failure that is not about a fact is about the
 *    end.
 * 2. Earlier facts about the process of that fact are shown briefly, no matter how long ago they occurred: its life and its leases.
 * 3. Streamed facts are omitted. Each line begins with its position among the facts.
 */
import { concernsSession, type Fact, type FactOf } from "./facts.js";
import { describeStart } from "./invariants-effects.js";

export type StoryOptions = {
  /** The maximum number of lines. */
  readonly lines: number;
  /** The position of the fact that the failure is about; null if it is about the end. */
  readonly about: number | null;
};

type StoryLine = { readonly fact: Fact; readonly text: string };

/** The maximum number of lines about the earlier life of the process. */
const maxLifeLines = 15;

export function formatStory(facts: readonly Fact[], { lines, about }: StoryOptions): string {
  const names = assignNames(facts);
  const visibleLines = facts.flatMap((fact): StoryLine[] =>
    isHidden(fact) && fact.line !== about ? [] : [{ fact, text: formatFact(fact, about, names) }],
  );
  const index = visibleLines.findIndex(({ fact }) => fact.line === about);
  // A third of the lines shows what came after the fact.
  const end = index === -1 ? visibleLines.length : Math.min(visibleLines.length, index + Math.ceil(lines / 3));
  const start = Math.max(0, end - lines);
  const life = index === -1 ? [] : formatLife(visibleLines.slice(0, start), visibleLines[index]);
  const omittedAfter = visibleLines.length - end;
  return [
    ...life,
    ...(start > 0 ? [`… ${start - life.length} before`] : []),
    ...visibleLines.slice(start, end).map(({ text }) => text),
    ...(omittedAfter > 0 ? [`… ${omittedAfter} after`] : []),
  ].join("\n");
}

/** What happened to the process of a line, and the leases of the same session that it had. */
function formatLife(earlier: readonly StoryLine[], about: StoryLine | undefined): readonly string[] {
  if (about === undefined || !("process" in about.fact)) return [];
  const { process } = about.fact;
  const sessionId = "sessionId" in about.fact ? about.fact.sessionId : undefined;
  const isSameSession = (fact: Fact) => sessionId === undefined || concernsSession(fact, sessionId);
  return earlier
    .filter(({ fact }) => isLifeFact(fact) && fact.process === process && isSameSession(fact))
    .slice(-maxLifeLines)
    .map(({ text }) => text);
}

function isLifeFact(fact: Fact): fact is FactOf<"process" | "claimed" | "holding" | "refused"> {
  return fact.type === "process" || fact.type === "claimed" || fact.type === "holding" || fact.type === "refused";
}

type SessionNames = ReadonlyMap<string, string>;

/**
 * Assigns short names to sessions: the first session has no name, the others are `c1`, `c2` … in the order in which they appear. A
 * run of `c1` is `c1-run`, because the ids of children and of their runs are long.
 */
function assignNames(facts: readonly Fact[]): SessionNames {
  const names = new Map<string, string>();
  let sessions = 0;
  for (const fact of facts) {
    if (!("sessionId" in fact)) continue;
    if (!names.has(fact.sessionId)) {
      names.set(fact.sessionId, sessions === 0 ? "" : `c${sessions}`);
      sessions += 1;
    }
    const session = names.get(fact.sessionId);
    if (fact.type === "written" && session !== "")
      for (const event of fact.commit.events)
        if (event.type === "run_started") names.set(event.runId, `${session}-run`);
  }
  return names;
}

function formatFact(fact: Fact, about: number | null, names: SessionNames): string {
  const session = "sessionId" in fact ? names.get(fact.sessionId) : "";
  const mark = fact.line === about ? "→" : " ";
  const line = describeFact(fact).replace(/[0-9a-f]{32}/g, (id) => names.get(id) ?? id);
  return `${mark}${fact.line}${session === "" ? "" : ` [${session}]`} ${line}`;
}

function isHidden({ type }: Fact): boolean {
  return type === "delta" || type === "model_meant" || type === "renewed" || type === "told";
}

function describeFact(fact: Fact): string {
  switch (fact.type) {
    case "process":
      return `${fact.process} ${fact.what}`;
    case "jumped":
      return `the clock jumps by ${fact.ms} ms`;
    case "claimed":
      return `  store: ${fact.process} claims, epoch ${fact.epoch}${fact.late ? ", late" : ""}`;
    case "holding":
      return `${fact.process} holds epoch ${fact.epoch}`;
    case "renewed":
      return `${fact.process} has renewed epoch ${fact.epoch}`;
    case "written":
      return `  store: ${fact.process} writes ${describeCommit(fact)}`;
    case "confirmed":
      return `${fact.process} learns: ${fact.seq === null ? "" : `durable up to ${fact.seq}`}${fact.released ? " lease released" : ""}`;
    case "refused":
      return `${fact.process} is refused: ${fact.why}`;
    case "unanswered":
      return `${fact.process} gets no reply to '${fact.what}'`;
    case "posted":
      return `  store: ${fact.process} posts ${fact.id}`;
    case "signalled":
      return `  store: ${fact.process} sends the signal ${fact.key} ${fact.id}${fact.isNew ? "" : " again"} to ${fact.sessions.join(", ")}`;
    case "signals_dropped":
      return `  store: ${fact.process} drops the signals that are kept until ${fact.until}`;
    case "schedule_put":
      return `  store: ${fact.process} puts ${fact.row.id} revision ${fact.row.rev}, due at ${fact.row.dueAt}`;
    case "schedule_fired":
      return `  store: ${fact.process} fires ${fact.fire.id} at ${fact.fire.slot}, next is ${fact.fire.next?.slot}: ${fact.fire.outcomes.map(({ slot, outcome, count = 1 }) => `${slot} ${outcome} × ${count}`).join(", ")}`;
    case "schedule_removed":
      return `  store: ${fact.process} removes ${fact.id}`;
    case "model_meant":
      return `the model means in ${fact.attempt}: ${fact.parts.join("; ")}`;
    case "delta":
      return `${fact.process} streams delta ${fact.delta.seq} (${fact.delta.kind})`;
    case "told":
      return `an observer at ${fact.process} is notified of '${fact.event}'`;
    case "summary_asked":
      return `${fact.process} asks for a summary in ${fact.runId}`;
    case "model_called": {
      const { runId, modelCallIndex, attempt, messages } = fact.request;
      return `${fact.process} calls the model: ${runId}/${modelCallIndex} attempt ${attempt}, ${messages.length} messages`;
    }
    case "tool_started":
      return `${fact.process} runs ${fact.tool} ${fact.callKey} attempt ${fact.attempt} (${JSON.stringify(fact.input)})`;
    case "guard_said":
      return `a guard in ${fact.process} lets ${fact.attempt} ${fact.passes ? "pass" : "not pass"}`;
    case "step_started":
      return describeStart(fact);
    case "step_given":
      return `${fact.process} gives ${fact.callKey} attempt ${fact.attempt} of its step '${fact.step}' ${JSON.stringify(fact.given).slice(0, 100)}`;
    case "tool_signalled":
      return `${fact.process} signals ${fact.callKey}`;
    case "tool_acted":
      return `  world: ${fact.tool} ${fact.callKey} takes effect (${fact.input})`;
    case "tool_settled":
      return `${fact.callKey} settles in ${fact.process}: ${fact.output === null ? "failed" : JSON.stringify(fact.output)}`;
    case "asked":
      return `request to ${fact.process}: ${fact.what} [${fact.id}]`;
    case "got":
      return `reply from ${fact.process} [${fact.id}]: ${fact.outcome}`;
  }
}

function describeCommit({ epoch, commit }: FactOf<"written">): string {
  const { expectedSeq, events, consume = [], release, state } = commit;
  const eventNames = events.map((event, index) => {
    const call = "callKey" in event && event.callKey !== undefined ? ` ${event.callKey}` : "";
    const step = "step" in event ? ` '${event.step}'` : "";
    const ending = "outcome" in event ? ` ${event.outcome}` : "reason" in event ? ` ${event.reason}` : "";
    return `${expectedSeq + index + 1} ${event.type}${call}${step}${ending}`;
  });
  const consumed = consume.length > 0 ? `, consumes ${consume.join(" ")}` : "";
  return `[${eventNames.join(", ")}] epoch ${epoch}${consumed}${release === true ? ", releases" : ""} → ${state.status}`;
}

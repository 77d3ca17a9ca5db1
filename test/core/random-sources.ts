/**
 * Texts of context sources that the entry of a model call names, and what must hold of them. They are drawn from a chance
 * of their own: the sessions that a seed draws stay as they are.
 */
import type { Entry, Event, EventOf } from "../../src/core/index.js";
import { diffSources, type SourceReference } from "../../src/core/machine/sources.js";
import { createChance } from "./chance.js";
import { check } from "./check.js";
import type { Session } from "./session.js";

type NamedSources = Pick<EventOf<"prepared">, "sources" | "changedSources" | "sourcesTold" | "append">;

/** Nothing, mostly; else other texts than before, as an agent would name them. */
export function createNamedSources(
  { transcript: { sources: previous }, state, at }: Session,
  runId: string,
): NamedSources {
  const chance = createChance(11 * state.seq + at);
  if (!chance.oneIn(3)) return {};
  const list = ["rules", "notes", "skills"].flatMap((name): readonly SourceReference[] => {
    if (chance.oneIn(3)) return [];
    const blob = String(chance.below(3)).repeat(64);
    return [{ name, path: `/${name}`, blob, bytes: 9, trust: chance.oneIn(4) ? "project" : "user" }];
  });
  const changes = previous === null ? [] : diffSources(previous.list, list);
  if (previous?.runId === runId && changes.length === 0) return {};
  const named = { sources: list, ...(changes.length === 0 ? {} : { changedSources: changes }) };
  const isTold = previous !== null && changes.length > 0 && chance.oneIn(2);
  const canAppend = state.status === "preparing" && state.for === "step" && state.purpose === "step";
  if (!canAppend || (!isTold && !chance.oneIn(6))) return named;
  const message = { role: "user", parts: [{ type: "text", text: `texts of ${state.seq}` }] } as const;
  const hint = { role: "user", parts: [{ type: "text", text: `hint of ${state.seq}` }] } as const;
  return {
    ...named,
    sourcesTold: isTold ? "changes" : "prompt",
    append: chance.oneIn(2) ? [hint, message] : [message],
  };
}

/** Whether the texts that count may be others after an event. */
export function affectsSources({ type }: Event): boolean {
  return type === "prepared" || type === "compacted" || type === "handed_off" || type === "run_started";
}

/**
 * The texts that count are those that the log named last, unless another agent has begun or taken over since. The model finds each
 * in its prompt, or in a message that it is still shown.
 */
export function assertSources({ transcript, log }: Pick<Session, "transcript" | "log">): void {
  const { sources, sourceNotes, messages } = transcript;
  for (const note of sourceNotes?.messages ?? []) check(messages.includes(note), "a message counts that is not shown");
  const last = log.findLast((entry) => namesSources(entry) || startsOtherAgent(entry, log))?.event;
  if (last?.type !== "prepared") {
    check(sources === null, "texts of another agent count");
    return;
  }
  check(sources?.runId === last.runId && sources.list === last.sources, "other texts count than the log names");
  assertChanges(last, findPreviousSources(log));
  if (sources === null || diffSources(sources.prompt, sources.list).length === 0) return;
  const isTold = sourceNotes !== null && diffSources(sourceNotes.list, sources.list).length === 0;
  check(isTold, "changed texts are neither in the prompt nor in a message");
}

function namesSources({ event }: Entry): boolean {
  return event.type === "prepared" && event.sources !== undefined;
}

function startsOtherAgent({ event }: Entry, log: Session["log"]): boolean {
  if (event.type === "handed_off") return true;
  if (event.type !== "run_started") return false;
  const queued = log[(event.queuedSeq ?? 0) - 1]?.event;
  const options = event.options ?? (queued?.type === "run_queued" ? queued.options : undefined);
  return options?.agent !== undefined;
}

/** The texts that counted when the last ones were named. */
function findPreviousSources(log: Session["log"]): readonly SourceReference[] | undefined {
  const lastNamingIndex = log.findLastIndex(namesSources);
  const before = log
    .slice(0, lastNamingIndex)
    .findLast((entry) => namesSources(entry) || startsOtherAgent(entry, log))?.event;
  return before?.type === "prepared" ? before.sources : undefined;
}

/** Each text that is new, gone or different is said to be, and no other one. */
function assertChanges(
  { sources = [], changedSources = [] }: NamedSources,
  before: readonly SourceReference[] | undefined,
) {
  for (const name of ["rules", "notes", "skills"]) {
    const [old, now] = [before?.find((one) => one.name === name), sources.find((one) => one.name === name)];
    const isSame = old?.blob === now?.blob && old?.trust === now?.trust;
    const expected = old === undefined ? "added" : now === undefined ? "removed" : "changed";
    const reportedChange = changedSources.find((one) => one.name === name)?.change;
    check(
      reportedChange === (before === undefined || isSame ? undefined : expected),
      `the change of ${name} is told wrongly`,
    );
  }
}

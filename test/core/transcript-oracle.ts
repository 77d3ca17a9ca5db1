/**
 * What must hold of what a model sees.
 */
import {
  type AssistantMessage,
  type Entry,
  type Event,
  hasCalls,
  type Message,
  type State,
  type Transcript,
  toolCallsOf,
} from "../../src/core/index.js";
import { check } from "./check.js";
import { affectsSources, assertSources } from "./random-sources.js";
import type { Session } from "./session.js";

export function watchTranscript(session: Session) {
  const { transcript } = session;
  let shown: readonly Message[] = [];

  return {
    observe(state: State, events: readonly Event[]): void {
      const { messages, run } = transcript;
      checkData(session);
      if (events.some(affectsSources)) assertSources(session);
      check(messages.length === transcript.seqs.length, "a message without its entry");
      if (events.some((event) => event.type === "handed_off" && event.messages !== undefined)) {
        checkOrder(shown, messages);
        shown = [];
      }
      checkKept(shown, messages);
      for (let index = shown.length; index < messages.length; index += 1) deepFreeze(messages[index]);
      if (messages.length !== shown.length || messages[0] !== shown[0] || messages.at(-1) !== shown.at(-1)) {
        if (!hasCalls(state)) checkConversation(messages);
        checkCut(transcript.calls, messages.at(-1));
        shown = [...messages];
      }
      if (state.status === "idle") return;
      check(run !== null && run.runId === state.runId, "the transcript is of another run");
      check(run.steps === state.counters.totalSteps, "steps are counted differently");
      const later = transcript.later.map((one) => one.seq);
      for (const queued of state.queue) {
        if (queued.kind === "run") check(transcript.queued.has(queued.seq), "a queued request is lost");
        else if (queued.seq > state.startSeq) check(later.includes(queued.seq), "a steer is lost");
      }
      if (state.status === "model_running") {
        const prepared = session.log.findLast(({ event }) => event.type === "prepared");
        checkSent(transcript, prepared);
        checkSettings(transcript, session.log);
        const since = session.log.slice(prepared?.seq ?? 0);
        const isGivenUp = since.some(({ event }) => event.type === "model_failed" && event.next.type === "fallback");
        const chosen = prepared?.event.type === "prepared" && !isGivenUp ? prepared.event.model : undefined;
        check(state.model === chosen, "another model is called than was chosen");
        check(
          state.purpose === "unpause" || later.every((seq) => seq > state.contextSeq),
          "the model is not shown what it should see",
        );
        const last = messages.at(-1);
        if (state.purpose === "unpause")
          check(
            last?.role !== "user" || isSummary(last),
            "something came between a provider's pause and the rest of its turn",
          );
        if (state.purpose !== "summary" && state.purpose !== "unpause")
          check(last !== undefined && last.role !== "assistant", "the model has the last word");
      }
    },
  };
}

/** The data, made of the log's patches key by key, the long way. */
function checkData({ transcript, log }: Session): void {
  const keys = new Set(["plan", "account", "draft", "n", ...Object.keys(transcript.data)]);
  const patches = log.map(({ event }) => {
    if (event.type === "data_changed") return event.patch;
    return "data" in event ? event.data : undefined;
  });
  for (const key of keys) {
    const last = patches.findLast(
      (patch) => patch?.unset?.includes(key) === true || Object.hasOwn(patch?.set ?? {}, key),
    );
    const expected = last === undefined || last.unset?.includes(key) === true ? undefined : last.set?.[key];
    check(transcript.data[key] === expected, `the data has another ${key} than the log says`);
  }
}

/** The settings that the log says last, since its last compaction. */
function checkSettings({ settings }: Transcript, log: readonly Entry[]): void {
  const named = log.findLast(
    ({ event }) =>
      (event.type === "prepared" && event.settings !== undefined) ||
      (event.type === "compacted" && event.summary !== undefined),
  );
  const expected = named?.event.type === "prepared" ? (named.event.settings ?? null) : null;
  check(settings === expected, "other settings are sent than the log names");
}

/** What the model is sent instead of the conversation, looked up the long way. */
function checkSent({ messages, seqs, sentList }: Transcript, prepared: Entry | undefined): void {
  if (prepared?.event.type !== "prepared") return;
  const expected = prepared.event.messages?.flatMap((ref): readonly unknown[] => {
    if ("blob" in ref) return [ref];
    if ("message" in ref) return [ref.message];
    const [seq, nth, count] = ref;
    const shown = messages.flatMap((_, index) => (seqs[index] === (seq === 0 ? prepared.seq : seq) ? [index] : []));
    const first = shown[nth];
    return first === undefined ? [] : messages.slice(first, first + count);
  });
  check(
    expected === undefined
      ? sentList === null
      : expected.length === sentList?.length && expected.every((message, index) => message === sentList[index]),
    "another list is sent than the log names",
  );
}

/** A filter leaves messages out and adds others: those that it keeps are the same, in the same order. */
function checkOrder(before: readonly Message[], now: readonly Message[]): void {
  const places = now.map((message) => before.indexOf(message)).filter((place) => place !== -1);
  check(
    places.every((place, index) => index === 0 || place > (places[index - 1] ?? -1)),
    "a filter has changed the order of the conversation",
  );
}

/**
 * What was shown stays as it was: only a compaction takes messages away, from the start, and a refusal the answer, from
 * the end.
 */
function checkKept(before: readonly Message[], now: readonly Message[]): void {
  if (before.every((message, index) => now[index] === message)) return;
  const from = before.findIndex((message, index) => now[index] !== message);
  if (from > 0) {
    check(
      before.slice(from).every((message) => message.role !== "user" || now.includes(message) || isPrompt(message)),
      "words of the user are gone with a refused answer",
    );
    return;
  }
  const kept = now.slice(1);
  const first = kept[0];
  if (first === undefined) return;
  const offset = before.length - kept.length;
  if (offset >= 0)
    before.slice(offset).forEach((message, index) => {
      check(isAlike(kept[index], message), "a message that was kept has changed");
    });
}

/** A compaction may have replaced everything, the provider's turn included. */
function isSummary({ parts: [part] }: Message): boolean {
  return part?.type === "text" && part.text.startsWith("[The conversation so far was too long to be kept;");
}

function isPrompt({ parts: [part] }: Message): boolean {
  return part?.type === "text" && part.text.startsWith("Your answer was cut at the output limit.");
}

/** A compaction may give calls the ids back that their provider gave. */
function isAlike(a: Message | undefined, b: Message): boolean {
  const withoutIds = (_key: string, value: unknown) => (_key === "toolCallId" ? "" : value);
  return a === b || JSON.stringify(a, withoutIds) === JSON.stringify(b, withoutIds);
}

/** What a child found before a limit ended it is marked as such, and nothing else is. */
function checkCut(records: Session["transcript"]["calls"], given: Message | undefined): void {
  if (given?.role !== "tool") return;
  for (const { part, result } of records.values()) {
    const shown = given.parts.find((one) => one.toolCallId === part.toolCallId);
    if (shown === undefined || result === undefined) continue;
    const isMarked = JSON.stringify(shown.output).includes("[Cut short: ");
    check(isMarked === (result.cut !== undefined), `the result of ${part.toolCallId} is marked wrongly as cut`);
  }
}

/** Every call has one result, all of a message's right after it and in its order; ids are unique. */
function checkConversation(messages: readonly Message[]): void {
  const ids = new Set<string>();
  messages.forEach((message, index) => {
    if (message.role === "user") return;
    if (message.role === "tool") {
      check(messages[index - 1]?.role === "assistant", "results without calls");
      return;
    }
    const asked: string[] = [];
    for (const part of message.parts) {
      if (part.type !== "tool_call") continue;
      check(part.toolCallId !== "" && !ids.has(part.toolCallId), `the id '${part.toolCallId}' is no one call's`);
      ids.add(part.toolCallId);
      if (part.providerExecuted !== true || part.approvalId !== undefined) asked.push(part.toolCallId);
    }
    const next = messages[index + 1];
    const given = next?.role === "tool" ? next.parts.map((part) => part.toolCallId) : [];
    checkApprovals(message, next);
    check(asked.join(" ") === given.join(" "), `calls [${asked.join(" ")}] have results [${given.join(" ")}]`);
    checkOwnResults(message);
  });
}

/** A provider that asked for approvals is given one answer to each. */
function checkApprovals(message: AssistantMessage, next: Message | undefined): void {
  const asked = toolCallsOf(message).map(({ approvalId }) => approvalId);
  const answered = next?.role === "tool" ? next.parts.map(({ approval }) => approval?.approvalId) : [];
  check(
    asked.join(" ") === answered.join(" "),
    `approvals [${asked.join(" ")}] are answered by [${answered.join(" ")}]`,
  );
}

/** The results of calls that the provider ran itself are each of a call before them. */
function checkOwnResults(message: Extract<Message, { role: "assistant" }>): void {
  const open = new Set<string>();
  for (const part of message.parts) {
    if (part.type === "tool_call" && part.providerExecuted === true) open.add(part.toolCallId);
    if (part.type === "tool_result") check(open.delete(part.toolCallId), "a provider's result is of another call");
  }
}

export function deepFreeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
}

/**
 * The live items that may have come with the events of a log, and random logs.
 */
import fc from "fast-check";
import type { AssistantPart, MessageDelta, PublicEvent, StreamItem } from "../../src/index.js";
import { type Attempt, isSameAttempt } from "../../src/view/view-change.js";

type DeltaBody = MessageDelta extends infer Delta ? Omit<Delta & object, keyof Attempt | "seq"> : never;

/** How texts are cut into deltas, and how many deltas become one. */
export type Cuts = { readonly lengths: readonly number[]; readonly joins: readonly number[] };

export const cuts: fc.Arbitrary<Cuts> = fc.record({
  lengths: fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 }),
  joins: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 8 }),
});

/** The log as somebody saw it who watched: deltas before the entry that has the message or the end of the attempt. */
export function toStreamedItems(events: readonly PublicEvent[], { lengths, joins }: Cuts): readonly StreamItem[] {
  const items: StreamItem[] = [];
  let at = 0;
  const next = (numbers: readonly number[]) => numbers[at++ % numbers.length] ?? 1;
  const pieces = (text: string): readonly string[] => {
    const chunks: string[] = [];
    for (let from = 0; from < text.length; ) {
      const length = next(lengths);
      chunks.push(text.slice(from, from + length));
      from += length;
    }
    return chunks;
  };
  const streamed: Attempt[] = [];
  let entry = 0;
  for (const event of events) {
    if (event.seq !== entry) {
      entry = event.seq;
      for (const attemptEvent of events) {
        if (attemptEvent.seq !== entry) continue;
        if (
          !(
            attemptEvent.type === "message" ||
            attemptEvent.type === "attempt_failed" ||
            attemptEvent.type === "attempt_withdrawn"
          )
        )
          continue;
        if (streamed.some((attempt) => isSameAttempt(attempt, attemptEvent))) continue;
        streamed.push(attemptEvent);
        const committed = events.find((other) => other.type === "message" && isSameAttempt(attemptEvent, other));
        const deltas = toDeltas(committed?.type === "message" ? committed.message.parts : withdrawnParts, pieces);
        items.push(
          ...numberDeltas(attemptEvent, attemptEvent === committed ? deltas : deltas.slice(0, next(lengths)), () =>
            next(joins),
          ),
        );
      }
    }
    items.push(event);
  }
  return items;
}

/** What an attempt had streamed before it failed. */
const withdrawnParts: readonly AssistantPart[] = [
  { type: "reasoning", text: "This thought comes to nothing." },
  { type: "text", text: "This text is taken back." },
  { type: "tool_call", toolCallId: "lost", name: "echo", input: { n: 1 } },
];

function toDeltas(parts: readonly AssistantPart[], pieces: (text: string) => readonly string[]): readonly DeltaBody[] {
  return parts.flatMap((part, index) => toBodies(part, `${index}`, pieces));
}

function toBodies(part: AssistantPart, id: string, pieces: (text: string) => readonly string[]): readonly DeltaBody[] {
  switch (part.type) {
    case "text":
    case "reasoning":
      return [
        { kind: `${part.type}-start`, id },
        ...pieces(part.text).map((text): DeltaBody => ({ kind: `${part.type}-delta`, id, text }) as DeltaBody),
        { kind: `${part.type}-end`, id },
      ] as DeltaBody[];
    case "tool_call": {
      const { toolCallId, name, providerExecuted } = part;
      const input = JSON.stringify(part.input);
      const by = providerExecuted === true ? { providerExecuted } : {};
      return [
        { kind: "tool-input-start", id: toolCallId, name, ...by },
        ...pieces(input).map((text): DeltaBody => ({ kind: "tool-input-delta", id: toolCallId, text }) as DeltaBody),
        { kind: "tool-input-end", id: toolCallId },
        { kind: "tool-call", id: toolCallId, name, input, ...by },
      ] as DeltaBody[];
    }
    case "file":
      return [{ kind: "file", mediaType: part.mediaType, data: part.data } as DeltaBody];
    case "source":
      return [{ kind: "source", id: part.id } as DeltaBody];
    case "tool_result":
      return [{ kind: "tool-result", id: part.toolCallId, name: part.name, output: part.output } as DeltaBody];
  }
}

function numberDeltas(
  { runId, modelCallIndex, attempt }: Attempt,
  bodies: readonly DeltaBody[],
  join: () => number,
): StreamItem[] {
  const items: StreamItem[] = [];
  let seq = 0;
  for (let at = 0; at < bodies.length; ) {
    const body = bodies[at] as DeltaBody & { readonly kind: string; readonly id?: string; text?: string };
    let count = 1;
    if (body.text !== undefined) {
      const joinable = bodies.slice(at, at + join()) as (typeof body)[];
      const end = joinable.findIndex(({ kind, id }) => kind !== body.kind || id !== body.id);
      const joined = end === -1 ? joinable : joinable.slice(0, end);
      count = joined.length;
      body.text = joined.map(({ text }) => text).join("");
    }
    seq += count;
    at += count;
    items.push({ type: "delta", n: count, delta: { ...body, runId, modelCallIndex, attempt, seq } as MessageDelta });
  }
  return items;
}

const textArbitrary = fc.stringMatching(/^[a-zé😀 ]{1,40}$/u);
const partArbitrary: fc.Arbitrary<AssistantPart> = fc.oneof(
  textArbitrary.map((text) => ({ type: "text", text }) as const),
  textArbitrary.map((text) => ({ type: "reasoning", text }) as const),
);
const stepArbitrary = fc.record({
  failures: fc.nat(2),
  isRestarted: fc.boolean(),
  isWithdrawn: fc.boolean(),
  parts: fc.array(partArbitrary, { maxLength: 4 }),
  calls: fc.array(fc.constantFrom("run", "ask", "ask and end", "question of a child"), { maxLength: 3 }),
});

/** Logs of sessions whose runs think, write, call, ask, fail and are restarted. */
export const logs: fc.Arbitrary<readonly PublicEvent[]> = fc
  .array(fc.array(stepArbitrary, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 })
  .map((runs) => {
    const events: PublicEvent[] = [];
    let seq = 0;
    let index = 1;
    const entry = () => {
      seq += 1;
      index = 1;
    };
    const addEvent = (body: { readonly type: string; readonly [field: string]: unknown }) => {
      events.push({ ...body, sessionId: "s", seq, index, at: seq } as unknown as PublicEvent);
      index += 1;
    };
    for (const [run, steps] of runs.entries()) {
      const runId = `r${run + 1}`;
      entry();
      addEvent({ type: "run_started", runId, input: [] });
      for (const [position, { failures, isRestarted, isWithdrawn, parts, calls }] of steps.entries()) {
        const modelCallIndex = position + 1;
        let attempt = 1;
        for (; attempt <= failures; attempt += 1) {
          entry();
          addEvent({
            type: "attempt_failed",
            runId,
            modelCallIndex,
            attempt,
            failure: { message: "Busy." },
            next: "retry",
          });
        }
        if (isRestarted) {
          entry();
          addEvent({ type: "restarted", runId });
        }
        if (isWithdrawn) {
          entry();
          addEvent({ type: "attempt_withdrawn", runId, modelCallIndex, attempt });
          attempt += 1;
        }
        const namedCalls = calls.map((what, at) => {
          const call = { runId, callKey: `${runId}/${modelCallIndex}/${at + 1}`, toolCallId: `c${at}`, name: "echo" };
          return { what, call };
        });
        entry();
        for (const part of parts) addEvent({ ...part, runId, modelCallIndex });
        const content = [
          ...parts,
          ...namedCalls.map(({ call: { toolCallId, name } }) => ({
            type: "tool_call",
            toolCallId,
            name,
            input: { n: 1 },
          })),
        ];
        addEvent({ type: "message", runId, modelCallIndex, attempt, message: { role: "assistant", parts: content } });
        for (const { call } of namedCalls) addEvent({ type: "call_start", ...call });
        addEvent({ type: "step_finished", runId, modelCallIndex, attempt });
        const open: object[] = [];
        for (const { what, call } of namedCalls) {
          entry();
          addEvent({ type: "tool_call", ...call, input: { n: 1 } });
          if (what === "run") continue;
          const child = what === "question of a child" ? { callKey: `child/1/1`, childId: "child" } : {};
          const approval = { ...call, ...child, input: { n: 1 }, why: "policy" };
          addEvent({ type: "approval_requested", ...approval });
          open.push(approval);
        }
        if (open.length > 0) {
          entry();
          addEvent({ type: "suspended", runId, approvals: open });
        }
        for (const { what, call } of namedCalls) {
          entry();
          if (what === "ask") addEvent({ type: "approval_answered", ...call, answer: "approve" });
          addEvent({
            type: "tool_result",
            ...call,
            outcome: "ok",
            output: { type: "text", text: "1" },
            isError: false,
          });
          addEvent({ type: "call_complete", ...call, status: "ok", durationMs: 1 });
        }
      }
      entry();
      addEvent({ type: "final", runId, result: { status: "completed", text: "" } });
    }
    return events;
  });

/**
 * The live items that may have come with the events of a log, and random logs.
 */
import fc from "fast-check";
import type { AssistantPart, MessageDelta, PublicEvent, StreamItem } from "../../src/index.js";
import { type Attempt, isSameAttempt } from "../../src/view/view-change.js";

type Body = MessageDelta extends infer Delta ? Omit<Delta & object, keyof Attempt | "seq"> : never;

/** How texts are cut into deltas, and how many deltas become one. */
export type Cuts = { readonly lengths: readonly number[]; readonly joins: readonly number[] };

export const cuts: fc.Arbitrary<Cuts> = fc.record({
  lengths: fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 }),
  joins: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 8 }),
});

/** The log as somebody saw it who watched: deltas before the entry that has the message or the end of the attempt. */
export function watched(events: readonly PublicEvent[], { lengths, joins }: Cuts): readonly StreamItem[] {
  const items: StreamItem[] = [];
  let at = 0;
  const next = (numbers: readonly number[]) => numbers[at++ % numbers.length] ?? 1;
  const pieces = (text: string): readonly string[] => {
    const found: string[] = [];
    for (let from = 0; from < text.length; ) {
      const length = next(lengths);
      found.push(text.slice(from, from + length));
      from += length;
    }
    return found;
  };
  const streamed: Attempt[] = [];
  let entry = 0;
  for (const event of events) {
    if (event.seq !== entry) {
      entry = event.seq;
      for (const one of events) {
        if (one.seq !== entry) continue;
        if (!(one.type === "message" || one.type === "attempt_failed" || one.type === "attempt_withdrawn")) continue;
        if (streamed.some((attempt) => isSameAttempt(attempt, one))) continue;
        streamed.push(one);
        const kept = events.find((other) => other.type === "message" && isSameAttempt(one, other));
        const deltas = deltasOf(kept?.type === "message" ? kept.message.parts : lost, pieces);
        items.push(...numbered(one, one === kept ? deltas : deltas.slice(0, next(lengths)), () => next(joins)));
      }
    }
    items.push(event);
  }
  return items;
}

/** What an attempt had streamed before it failed. */
const lost: readonly AssistantPart[] = [
  { type: "reasoning", text: "This thought comes to nothing." },
  { type: "text", text: "This text is taken back." },
  { type: "tool_call", toolCallId: "lost", name: "echo", input: { n: 1 } },
];

function deltasOf(parts: readonly AssistantPart[], pieces: (text: string) => readonly string[]): readonly Body[] {
  return parts.flatMap((part, index) => bodiesOf(part, `${index}`, pieces));
}

function bodiesOf(part: AssistantPart, id: string, pieces: (text: string) => readonly string[]): readonly Body[] {
  switch (part.type) {
    case "text":
    case "reasoning":
      return [
        { kind: `${part.type}-start`, id },
        ...pieces(part.text).map((text): Body => ({ kind: `${part.type}-delta`, id, text }) as Body),
        { kind: `${part.type}-end`, id },
      ] as Body[];
    case "tool_call": {
      const { toolCallId, name, providerExecuted } = part;
      const input = JSON.stringify(part.input);
      const by = providerExecuted === true ? { providerExecuted } : {};
      return [
        { kind: "tool-input-start", id: toolCallId, name, ...by },
        ...pieces(input).map((text): Body => ({ kind: "tool-input-delta", id: toolCallId, text }) as Body),
        { kind: "tool-input-end", id: toolCallId },
        { kind: "tool-call", id: toolCallId, name, input, ...by },
      ] as Body[];
    }
    case "file":
      return [{ kind: "file", mediaType: part.mediaType, data: part.data } as Body];
    case "source":
      return [{ kind: "source", id: part.id } as Body];
    case "tool_result":
      return [{ kind: "tool-result", id: part.toolCallId, name: part.name, output: part.output } as Body];
  }
}

function numbered(
  { runId, modelCallIndex, attempt }: Attempt,
  bodies: readonly Body[],
  join: () => number,
): StreamItem[] {
  const items: StreamItem[] = [];
  let seq = 0;
  for (let at = 0; at < bodies.length; ) {
    const body = bodies[at] as Body & { readonly kind: string; readonly id?: string; text?: string };
    let count = 1;
    if (body.text !== undefined) {
      const same = bodies.slice(at, at + join()) as (typeof body)[];
      const end = same.findIndex(({ kind, id }) => kind !== body.kind || id !== body.id);
      const joined = end === -1 ? same : same.slice(0, end);
      count = joined.length;
      body.text = joined.map(({ text }) => text).join("");
    }
    seq += count;
    at += count;
    items.push({ type: "delta", n: count, delta: { ...body, runId, modelCallIndex, attempt, seq } as MessageDelta });
  }
  return items;
}

const words = fc.stringMatching(/^[a-zé😀 ]{1,40}$/u);
const written: fc.Arbitrary<AssistantPart> = fc.oneof(
  words.map((text) => ({ type: "text", text }) as const),
  words.map((text) => ({ type: "reasoning", text }) as const),
);
const step = fc.record({
  failures: fc.nat(2),
  isRestarted: fc.boolean(),
  isWithdrawn: fc.boolean(),
  parts: fc.array(written, { maxLength: 4 }),
  calls: fc.array(fc.constantFrom("run", "ask", "ask and end", "question of a child"), { maxLength: 3 }),
});

/** Logs of sessions whose runs think, write, call, ask, fail and are restarted. */
export const logs: fc.Arbitrary<readonly PublicEvent[]> = fc
  .array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 })
  .map((runs) => {
    const events: PublicEvent[] = [];
    let seq = 0;
    let index = 1;
    const entry = () => {
      seq += 1;
      index = 1;
    };
    const say = (body: { readonly type: string; readonly [field: string]: unknown }) => {
      events.push({ ...body, sessionId: "s", seq, index, at: seq } as unknown as PublicEvent);
      index += 1;
    };
    for (const [run, steps] of runs.entries()) {
      const runId = `r${run + 1}`;
      entry();
      say({ type: "run_started", runId, input: [] });
      for (const [position, { failures, isRestarted, isWithdrawn, parts, calls }] of steps.entries()) {
        const modelCallIndex = position + 1;
        let attempt = 1;
        for (; attempt <= failures; attempt += 1) {
          entry();
          say({ type: "attempt_failed", runId, modelCallIndex, attempt, failure: { message: "Busy." }, next: "retry" });
        }
        if (isRestarted) {
          entry();
          say({ type: "restarted", runId });
        }
        if (isWithdrawn) {
          entry();
          say({ type: "attempt_withdrawn", runId, modelCallIndex, attempt });
          attempt += 1;
        }
        const named = calls.map((what, at) => {
          const call = { runId, callKey: `${runId}/${modelCallIndex}/${at + 1}`, toolCallId: `c${at}`, name: "echo" };
          return { what, call };
        });
        entry();
        for (const part of parts) say({ ...part, runId, modelCallIndex });
        const content = [
          ...parts,
          ...named.map(({ call: { toolCallId, name } }) => ({ type: "tool_call", toolCallId, name, input: { n: 1 } })),
        ];
        say({ type: "message", runId, modelCallIndex, attempt, message: { role: "assistant", parts: content } });
        for (const { call } of named) say({ type: "call_start", ...call });
        say({ type: "step_finished", runId, modelCallIndex, attempt });
        const open: object[] = [];
        for (const { what, call } of named) {
          entry();
          say({ type: "tool_call", ...call, input: { n: 1 } });
          if (what === "run") continue;
          const child = what === "question of a child" ? { callKey: `child/1/1`, childId: "child" } : {};
          const asked = { ...call, ...child, input: { n: 1 }, why: "policy" };
          say({ type: "approval_requested", ...asked });
          open.push(asked);
        }
        if (open.length > 0) {
          entry();
          say({ type: "suspended", runId, approvals: open });
        }
        for (const { what, call } of named) {
          entry();
          if (what === "ask") say({ type: "approval_answered", ...call, answer: "approve" });
          say({ type: "tool_result", ...call, outcome: "ok", output: { type: "text", text: "1" }, isError: false });
          say({ type: "call_complete", ...call, status: "ok", durationMs: 1 });
        }
      }
      entry();
      say({ type: "final", runId, result: { status: "completed", text: "" } });
    }
    return events;
  });

/**
 * How a signal reaches a wait: as an answer in the session's inbox.
 *
 * 1. A wait gets one signal: the oldest one with its key that its call has not had.
 * 2. The id of the message identifies the signal, the call and the wait. The message ids of a session therefore show which signals a call
 *    has had, in any of its waits: `hadPrefix`.
 * 3. The message keeps the time at which the signal was sent. A signal that was sent before a wait ended counts for it.
 */
import { defined } from "../../core/data/defined.js";
import type { Json } from "../../core/data/message.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { type SignalWait, signalPrefix } from "../../core/machine/signal-waits.js";
import { sha256 } from "../../platform/hash.js";
import type { Signal } from "../../ports/signal.js";

/** How many waits receive a signal in one transaction. */
export const waitsOfPage = 1_000;

/** The id prefix of all messages that deliver this signal to this call. It ends with a slash. */
export function hadPrefix({ key, id }: Pick<Signal, "key" | "id">, callKey: string): string {
  return `${signalPrefix}${sha256([key, id, callKey].join("\n")).slice(0, 32)}/`;
}

/** The first string that sorts after all strings with this prefix, which ends with a slash. */
export function endOfPrefix(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}

export function createSignalMessage(
  signal: Signal,
  { callKey, step }: Pick<SignalWait, "callKey" | "step">,
): InboxMessage {
  const { id, at, value, by } = signal;
  const given: Json = { id, at, value };
  return {
    id: `${hadPrefix(signal, callKey)}${step}`,
    at,
    body: { type: "answer", callKey, answer: { type: "reply", value: given }, questionId: step, ...defined({ by }) },
  };
}

/** Whether the signal was sent before the wait ended. */
export function isInTime({ at }: Pick<Signal, "at">, { expiresAt }: Pick<SignalWait, "expiresAt">): boolean {
  return expiresAt === undefined || at < expiresAt;
}

/** The name of a wait within its session. */
export function nameOfWait({ callKey, step }: Pick<SignalWait, "callKey" | "step">): string {
  return `${callKey}/${step}`;
}

/**
 * Lists that a hook or a context manager may send instead of the conversation: valid ones, drawn at random from what it
 * was shown.
 */
import type { Message } from "../../src/index.js";
import type { Chance } from "../core/chance.js";

/** A user's message, of a size on either side of what is kept in its entry. */
export function createSizedMessage(text: string, words = 0): Message {
  return { role: "user", parts: [{ type: "text", text: `${text} ${"again ".repeat(words)}`.trim() }] };
}

/** Messages that stay together: a message with calls and its results, or one message. */
function groupMessages(messages: readonly Message[]): readonly (readonly Message[])[] {
  const units: Message[][] = [];
  for (const message of messages)
    if (message.role === "tool") units.at(-1)?.push(message);
    else units.push([message]);
  return units;
}

/** Left out, shortened, put in another order, and with others between: as any provider takes it. */
export function createRandomList(messages: readonly Message[], chance: Chance): readonly Message[] {
  const units = groupMessages(messages);
  const lastUnit = units.at(-1) ?? [];
  const keptUnits = units.slice(0, -1).filter(() => !chance.oneIn(4));
  if (chance.oneIn(3)) keptUnits.reverse();
  const list: Message[] = [];
  if (chance.oneIn(3)) list.push(createSizedMessage(`Before all ${chance.below(3)}`, chance.pick([1, 400])));
  for (const unit of [...keptUnits, lastUnit]) {
    list.push(...unit.map((message) => (chance.oneIn(4) ? shortenMessage(message) : message)));
    if (chance.oneIn(6)) list.push(createSizedMessage("Between", chance.below(2) * 300));
  }
  return list.at(-1)?.role === "assistant" ? [...list, createSizedMessage("Go on.")] : list;
}

/** A copy with less in it. Some copies are still too long to be kept in their entry. */
function shortenMessage(message: Message): Message {
  if (message.role === "tool") {
    const parts = message.parts.map((part) => ({ ...part, output: { type: "text" as const, text: "(cut)" } }));
    return { role: "tool", parts };
  }
  const parts = message.parts.map((part) =>
    part.type === "text" ? { ...part, text: part.text.slice(0, 1_500) } : part,
  );
  return { ...message, parts } as Message;
}

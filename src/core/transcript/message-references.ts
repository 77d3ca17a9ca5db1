/**
 * Lists that are sent in place of the conversation: creates references to messages, and resolves them.
 *
 * 1. A list may contain messages of the conversation, in any order, and other messages. The former become references; the latter are stored
 *    once, inline or in a blob.
 * 2. A reference counts from the first message that an entry shows. A compaction cuts between entries, so references mean the same to a
 *    process that reads the log from the compaction on.
 * 3. A reference to messages that a compaction removed resolves to nothing.
 */
import type { Message } from "../data/message.js";
import type { ListedMessage, MessageRef } from "../machine/message-ref.js";
import type { Transcript } from "./transcript-record.js";

/** Messages of the conversation, each with the entry that shows it. 0 is the entry that is about to be written. */
export type ShownMessages = { readonly messages: readonly Message[]; readonly seqs: readonly number[] };

/** A message that is not part of the conversation. */
export type AddedMessage = Exclude<MessageRef, readonly unknown[]>;

/**
 * Creates the references of a list.
 * @param storeMessage stores a message that is not part of the conversation, and returns its reference
 * @param options.acrossEntries if false, each reference covers messages of one entry only. A list that outlives the next compaction needs
 * this, because a compaction may remove the first entry of a longer reference.
 */
export function createReferences(
  list: readonly Message[],
  shown: ShownMessages,
  storeMessage: (message: Message) => AddedMessage,
  { acrossEntries = true }: { readonly acrossEntries?: boolean } = {},
): readonly MessageRef[] {
  const indexes = new Map<Message, number>();
  for (const [index, message] of shown.messages.entries()) indexes.set(message, index);
  const refs: MessageRef[] = [];
  for (let index = 0; index < list.length; ) {
    const message = list[index] as Message;
    const first = indexes.get(message);
    if (first === undefined) {
      refs.push(storeMessage(message));
      index += 1;
      continue;
    }
    const seq = shown.seqs[first] ?? 0;
    let count = 1;
    while (
      index + count < list.length &&
      list[index + count] === shown.messages[first + count] &&
      (acrossEntries || shown.seqs[first + count] === seq)
    )
      count += 1;
    refs.push([seq, first - findFirstIndex(shown.seqs, seq, first), count]);
    index += count;
  }
  return refs;
}

/** Resolves references to messages. `seq` is the entry that holds the references. */
export function resolveReferences(
  { messages, seqs }: Pick<Transcript, "messages" | "seqs">,
  seq: number,
  refs: readonly MessageRef[],
): readonly ListedMessage[] {
  const list: ListedMessage[] = [];
  for (const ref of refs) {
    if (!isRange(ref)) {
      list.push("message" in ref ? ref.message : ref);
      continue;
    }
    const [ownerSeq, nth, count] = ref;
    const entrySeq = ownerSeq === 0 ? seq : ownerSeq;
    const first = findLowerBound(seqs, entrySeq) + nth;
    if (seqs[first] !== entrySeq) continue;
    const end = Math.min(messages.length, first + count);
    for (let index = first; index < end; index += 1) list.push(messages[index] as Message);
  }
  return list;
}

/** Whether a reference names messages of the conversation. */
export function isRange(ref: MessageRef): ref is Extract<MessageRef, readonly unknown[]> {
  return Array.isArray(ref);
}

/** The index of the first message of an entry, searching back from one that it shows. */
function findFirstIndex(seqs: readonly number[], seq: number, from: number): number {
  let index = from;
  while (index > 0 && seqs[index - 1] === seq) index -= 1;
  return index;
}

/** The index of the first message of this entry or a later one. The numbers never decrease. */
function findLowerBound(seqs: readonly number[], seq: number): number {
  let [low, high] = [0, seqs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((seqs[middle] ?? 0) < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * References to messages: how the log names a list of messages without writing their text once more.
 */
import type { Message } from "../data/message.js";

/**
 * Messages of a list that is sent in the place of the conversation. `[seq, nth, count]` names `count` messages of the
 * conversation, in its order. The first of them is message `nth`, counted from 0, of those that entry `seq` shows;
 * `seq` 0 is the entry that holds this reference. Any other message stands in place, or in the blob that is named. In the
 * list of a handoff, `seq` beside a message is the entry that it belongs to: that of the message in whose place it stands.
 */
export type MessageRef =
  | readonly [seq: number, nth: number, count: number]
  | {
      /** The message itself. */
      readonly message: Message;
      /** The entry that it comes from, if it stands in the log. */
      readonly seq?: number;
    }
  | { readonly blob: string };

/** A message of a list, or the blob that holds it. */
export type ListedMessage = Message | { readonly blob: string };

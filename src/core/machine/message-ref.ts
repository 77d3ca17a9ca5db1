/**
 * References to messages: how the log names a list of messages without repeating their text.
 */
import type { Message } from "../data/message.js";

/**
 * Messages of a list that is sent in place of the conversation. `[seq, nth, count]` names `count` consecutive messages of the conversation.
 * The first is message number `nth`, counted from 0, of the messages that entry `seq` shows; `seq` 0 is the entry that holds this
 * reference. Any other message is inline or in the named blob. In the list of a handoff, the `seq` of an inline message is the entry of the
 * message that it replaces.
 */
export type MessageRef =
  | readonly [seq: number, nth: number, count: number]
  | {
      /** The message itself. */
      readonly message: Message;
      /** The entry that it comes from, if it is in the log. */
      readonly seq?: number;
    }
  | { readonly blob: string };

/** A message of a list, or the blob that holds it. */
export type ListedMessage = Message | { readonly blob: string };

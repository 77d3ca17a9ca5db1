/**
 * A conversation from elsewhere, with which a session begins: read, checked, and cut into parts for the log.
 */
import { checkJson } from "../../core/data/json.js";
import type { Message } from "../../core/data/message.js";
import type { HistorySource, SeededHistory } from "../../core/machine/history.js";
import { PawlError } from "../../errors.js";
import { byteLength } from "../../platform/bytes.js";
import { fromPawl } from "./history-messages.js";
import { fromModelMessages } from "./history-model-messages.js";
import { pairResults } from "./history-pairs.js";
import { createRefuse, type ForeignObject, type IndexedMessage } from "./history-parts.js";
import { fromUIMessages } from "./history-ui-messages.js";

/** A message of Pawl, or a `ModelMessage` or `UIMessage` of the AI SDK, as it is. */
export type HistoryMessage =
  | Message
  | {
      /** Who said it. */
      readonly role: string;
      /** What was said. */
      readonly content: unknown;
    }
  | {
      /** The id of the message. */
      readonly id: string;
      /** Who said it. */
      readonly role: string;
      /** What was said. */
      readonly parts: readonly {
        /** What kind of part it is. */
        readonly type: string;
      }[];
    };

/** A conversation from elsewhere. */
export type History = readonly HistoryMessage[];

/** Where a conversation comes from. */
export type HistoryOptions = {
  /**
   * If true, calls without a result, and calls that wait for an approval, are left out. Default: false; a history with
   * such a call is refused.
   */
  readonly dropOpenCalls?: boolean;
};

const maxMessages = 10_000;
const maxBytes = 16 * 1024 * 1024;
/** UTF-8 bytes of one message: an entry of the log is bounded. Larger files become blobs before this counts. */
const maxMessageBytes = 900_000;
/** A part ends at the next message of a user once it has this size: a compaction cuts between parts. */
const partBytes = 4 * 1024;

/** A history that was checked. Files are still in its messages. */
export type CheckedHistory = { readonly source: HistorySource; readonly messages: readonly IndexedMessage[] };

/**
 * Reads a history. The messages that it gives share nothing with the given ones.
 * @throws PawlError `bad_input`, with the index of the message and the reason
 */
export function checkHistory(given: History, { dropOpenCalls = false }: HistoryOptions = {}): CheckedHistory {
  const list: unknown = given;
  if (!Array.isArray(list)) throw new PawlError("bad_input", "history is no array. Give the messages as an array.");
  if (list.length > maxMessages)
    throw new PawlError("bad_input", `history has ${list.length} messages; the most is ${maxMessages}.`);
  list.forEach((message: unknown, index) => {
    if (typeof message !== "object" || message === null) createRefuse(index)("it is no message.");
  });
  const source = detectSource(list as readonly ForeignObject[]);
  const messages = pairResults(readMessages(list as readonly ForeignObject[], source, dropOpenCalls), dropOpenCalls);
  let bytes = 0;
  for (const { index, message } of messages) {
    const checked = checkJson(message, { maxBytes });
    if (!checked.ok) createRefuse(index)(`it cannot be stored: ${checked.error}.`);
    bytes += byteLength(JSON.stringify(message));
    if (bytes > maxBytes)
      throw new PawlError(
        "bad_input",
        `history takes more than ${maxBytes} bytes as JSON. Give its last messages only.`,
      );
  }
  return { source, messages };
}

function readMessages(list: readonly ForeignObject[], source: HistorySource, drop: boolean): readonly IndexedMessage[] {
  switch (source) {
    case "pawl":
      return fromPawl(list);
    case "model_messages":
      return fromModelMessages(list, drop);
    case "ui_messages":
      return fromUIMessages(list, drop);
  }
}

function detectSource(list: readonly ForeignObject[]): HistorySource {
  const detectMessageSource = (message: ForeignObject): HistorySource => {
    if ("content" in message && !("parts" in message)) return "model_messages";
    return typeof message.id === "string" ? "ui_messages" : "pawl";
  };
  const first = list[0] === undefined ? "pawl" : detectMessageSource(list[0]);
  list.forEach((message, index) => {
    if (detectMessageSource(message) !== first)
      createRefuse(index)("it is of another kind than the first message. Give messages of one kind.");
  });
  return first;
}

/** The history in parts, each of which fits into an entry. @throws PawlError `bad_input` for a message that is too long */
export function splitHistory({ source, messages }: CheckedHistory): SeededHistory {
  const parts: Message[][] = [];
  let part: Message[] = [];
  let size = 0;
  for (const { index, message } of messages) {
    const bytes = byteLength(JSON.stringify(message));
    if (bytes > maxMessageBytes)
      createRefuse(index)(
        `it takes ${bytes} bytes as JSON; the most is ${maxMessageBytes}. Give large content as a file.`,
      );
    const exceedsPart = size + bytes > maxMessageBytes;
    if (part.length > 0 && (exceedsPart || (size > partBytes && message.role === "user"))) {
      parts.push(part);
      part = [];
      size = 0;
    }
    part.push(message);
    size += bytes;
  }
  if (part.length > 0) parts.push(part);
  return { source, parts };
}

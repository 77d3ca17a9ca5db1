/**
 * Imports a conversation into a new session: converts it, checks it, and splits it into parts for the log.
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

/** A message of Pawl, or an unchanged `ModelMessage` or `UIMessage` of the AI SDK. */
export type HistoryMessage =
  | Message
  | {
      /** The author of the message. */
      readonly role: string;
      /** The content of the message. */
      readonly content: unknown;
    }
  | {
      /** The id of the message. */
      readonly id: string;
      /** The author of the message. */
      readonly role: string;
      /** The content of the message. */
      readonly parts: readonly {
        /** The kind of the part. */
        readonly type: string;
      }[];
    };

/** A conversation to import. */
export type History = readonly HistoryMessage[];

/** How to import a conversation. */
export type HistoryOptions = {
  /**
   * If true, calls without a result, and calls that wait for an approval, are omitted. Default: false; a history with
   * such a call is refused.
   */
  readonly dropOpenCalls?: boolean;
};

const maxMessages = 10_000;
const maxBytes = 16 * 1024 * 1024;
/** UTF-8 bytes of one message, because the size of a log entry is limited. Larger files become blobs before this limit applies. */
const maxMessageBytes = 900_000;
/** In bytes. A part of this size ends before the next user message, because a compaction cuts between parts. */
const partBytes = 4 * 1024;

/** A checked history. Its messages still contain their files. */
export type CheckedHistory = { readonly source: HistorySource; readonly messages: readonly IndexedMessage[] };

/**
 * Converts and checks a history. The result shares no objects with the input.
 * @throws PawlError `bad_input`, with the index of the message and the reason
 */
export function checkHistory(given: History, { dropOpenCalls = false }: HistoryOptions = {}): CheckedHistory {
  const list: unknown = given;
  if (!Array.isArray(list)) throw new PawlError("bad_input", "history must be an array of messages.");
  if (list.length > maxMessages)
    throw new PawlError("bad_input", `history has ${list.length} messages; the maximum is ${maxMessages}.`);
  list.forEach((message: unknown, index) => {
    if (typeof message !== "object" || message === null) createRefuse(index)("it is not a message.");
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
        `history takes more than ${maxBytes} bytes as JSON. Pass only its last messages.`,
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
      createRefuse(index)("it has a different format from the first message. Use one format for all messages.");
  });
  return first;
}

/** Splits the history into parts that fit into entries. @throws PawlError `bad_input` for a message that is too long */
export function splitHistory({ source, messages }: CheckedHistory): SeededHistory {
  const parts: Message[][] = [];
  let part: Message[] = [];
  let size = 0;
  for (const { index, message } of messages) {
    const bytes = byteLength(JSON.stringify(message));
    if (bytes > maxMessageBytes)
      createRefuse(index)(
        `it takes ${bytes} bytes as JSON; the maximum is ${maxMessageBytes}. Give large content as a file.`,
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

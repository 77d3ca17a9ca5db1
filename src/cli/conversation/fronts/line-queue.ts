/**
 * The order of the lines that a person sends. A line waits while there is no session, and while a command before it may lead to
 * another one: what was meant for the next session must not reach the one before.
 */
import { dispatchLine, type Talk } from "./front.js";

export type LineQueue = {
  readonly send: (text: string) => void;
  /** The session that the person talks with from now on; null: none for the moment. */
  readonly talk: (talk: Talk | null) => void;
};

/** @param earlierLines lines that were sent before */
export function createLineQueue(earlierLines: readonly string[] = []): LineQueue {
  const queued = [...earlierLines];
  let currentTalk: Talk | null = null;
  let isBlocked = false;

  function sendQueued(): void {
    while (currentTalk !== null && !isBlocked && queued.length > 0) {
      const talk = currentTalk;
      const commandEnd = dispatchLine(talk, queued.shift() ?? "");
      if (commandEnd !== null) void blockUntil(talk, commandEnd);
    }
  }

  async function blockUntil(talk: Talk, commandEnd: Promise<"stays" | "leads_on">): Promise<void> {
    isBlocked = true;
    const end = await commandEnd;
    if (talk !== currentTalk || end === "leads_on") return;
    isBlocked = false;
    sendQueued();
  }

  return {
    send(text) {
      queued.push(text);
      sendQueued();
    },
    talk(next) {
      [currentTalk, isBlocked] = [next, false];
      sendQueued();
    },
  };
}

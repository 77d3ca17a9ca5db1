/**
 * Sends the person's lines in order. A line waits while there is no session, and while an earlier command may switch to another
 * session, so that a line for the next session cannot reach the previous one.
 */
import { dispatchLine, type Talk } from "./front.js";

export type LineQueue = {
  readonly send: (text: string) => void;
  /** Sets the talk that receives the lines from now on; null if there is none. */
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

/**
 * The order of the lines that a person sends. A line waits while there is no session, and while a command before it may lead to
 * another one: what was meant for the next session must not reach the one before.
 */
import { sendLine, type Talk } from "./front.js";

export type LineOrder = {
  readonly send: (text: string) => void;
  /** The session that the person talks with from now on; null: none for the moment. */
  readonly talk: (talk: Talk | null) => void;
};

/** @param early lines that were sent before */
export function createLineOrder(early: readonly string[] = []): LineOrder {
  const waiting = [...early];
  let present: Talk | null = null;
  let isHeld = false;

  function sendWaiting(): void {
    while (present !== null && !isHeld && waiting.length > 0) {
      const talk = present;
      const turn = sendLine(talk, waiting.shift() ?? "");
      if (turn !== null) void holdFor(talk, turn);
    }
  }

  async function holdFor(talk: Talk, turn: Promise<"stays" | "leads_on">): Promise<void> {
    isHeld = true;
    const end = await turn;
    if (talk !== present || end === "leads_on") return;
    isHeld = false;
    sendWaiting();
  }

  return {
    send(text) {
      waiting.push(text);
      sendWaiting();
    },
    talk(next) {
      [present, isHeld] = [next, false];
      sendWaiting();
    },
  };
}

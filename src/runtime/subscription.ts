/**
 * One consumer of a session's events and deltas.
 *
 * A consumer more than 1,024 items behind gets one `lagged` and goes on from the log; it neither stalls the run nor grows
 * a queue (STRM-7). Events come in the order of the log, each once; deltas are live only.
 */
import type { AssistantMessage } from "../core/message.js";
import type { PublicEvent } from "../core/public-event.js";
import type { MessageDelta } from "../ports/model.js";

export type StreamItem =
  | PublicEvent
  | { readonly type: "delta"; readonly delta: MessageDelta }
  /** The message that is being streamed, for those who come in the middle: later deltas go on from it. */
  | {
      readonly type: "snapshot";
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly attempt: number;
      /** The number of the last delta in it. */
      readonly deltaSeq: number;
      readonly message: AssistantMessage;
    }
  | { readonly type: "progress"; readonly callKey: string; readonly note: string }
  /** Items were dropped; what the log has of them follows, from this entry on. */
  | { readonly type: "lagged"; readonly fromSeq: number };

export const maxBehind = 1_024;

export type Subscription = {
  readonly push: (item: StreamItem) => void;
  /** No more items come. */
  readonly end: () => void;
  readonly items: () => AsyncGenerator<StreamItem, void, undefined>;
};

/**
 * @param readLog the events after an entry, from the store
 * @param onLeave called when the consumer goes
 */
export function createSubscription(
  readLog: (after: number) => Promise<readonly PublicEvent[]>,
  onLeave: () => void,
): Subscription {
  let buffer: StreamItem[] = [];
  let head = 0;
  let seen = 0;
  let lagged = false;
  let ended = false;
  let wake: (() => void) | null = null;

  function push(item: StreamItem): void {
    if (ended || lagged) return;
    if (buffer.length - head >= maxBehind) {
      buffer = [];
      head = 0;
      lagged = true;
    } else buffer.push(item);
    wake?.();
  }

  function end(): void {
    ended = true;
    wake?.();
  }

  async function* items(): AsyncGenerator<StreamItem, void, undefined> {
    let floor = 0;
    try {
      for (;;) {
        const item = buffer[head];
        if (item !== undefined) {
          head += 1;
          if (head === buffer.length) {
            buffer = [];
            head = 0;
          }
          if ("seq" in item) {
            if (item.seq <= floor) continue;
            seen = item.seq;
          }
          yield item;
        } else if (lagged) {
          const from = seen;
          yield { type: "lagged", fromSeq: from + 1 };
          lagged = false;
          for (const event of await readLog(from)) {
            floor = event.seq;
            seen = event.seq;
            yield event;
          }
        } else if (ended) return;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          wake = null;
        }
      }
    } finally {
      ended = true;
      onLeave();
    }
  }

  return { push, end, items };
}

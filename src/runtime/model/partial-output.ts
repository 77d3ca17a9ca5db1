/**
 * Parses a structured answer while it is streamed.
 *
 * 1. At most 20 values a second are published, by the agent's clock. The last value of a successful attempt is always
 *    published.
 * 2. The text of each delta is parsed once.
 */
import { isSameJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import type { Clock } from "../../ports/clock.js";
import type { MessageDelta, RequestIdentity } from "../../ports/model.js";
import { createPartialJson } from "./partial-json.js";

const minIntervalMs = 50;

/** All members of a value may be missing, at any depth, and strings may be incomplete. */
export type DeepPartial<Value> = Value extends readonly (infer Item)[]
  ? readonly DeepPartial<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]?: DeepPartial<Value[Key]> }
    : Value;

/**
 * The answer so far of a run with the option `output`, while it is streamed. It is not validated. A new attempt starts over. Live only: it
 * is in no event of the log and in no result.
 */
export type PartialOutput<Output = never> = {
  readonly type: "partial_output";
  readonly runId: string;
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** Frozen. Typed as plain JSON if the type of the output is unknown. */
  readonly value: [Output] extends [never] ? Json : unknown extends Output ? Json : DeepPartial<Output>;
};

export type PartialOutputReader = {
  readonly take: (delta: MessageDelta) => void;
  /** Ends the reader and its timer. */
  readonly end: () => void;
};

type ReaderOptions = {
  readonly identity: Pick<RequestIdentity, "runId" | "modelCallIndex" | "attempt">;
  /** The text of the messages that this one continues. */
  readonly before: string;
  readonly clock: Clock;
  readonly publish: (item: PartialOutput) => void;
};

export function readPartialOutput({ identity, before, clock, publish }: ReaderOptions): PartialOutputReader {
  const { runId, modelCallIndex, attempt } = identity;
  const json = createPartialJson();
  json.add(before);
  let publishedAt: number | undefined;
  let last: Json | undefined;
  let cancel: (() => void) | null = null;

  function publishNow(): void {
    cancel?.();
    cancel = null;
    const value = json.value();
    // A piece of text may not change the value: for example, the digits of a number.
    if (value === undefined || (last !== undefined && isSameJson(value, last))) return;
    last = value;
    publishedAt = clock.elapsed();
    publish({ type: "partial_output", runId, modelCallIndex, attempt, value });
  }

  function takeText(text: string): void {
    json.add(text);
    if (cancel !== null) return;
    const remainingMs = publishedAt === undefined ? 0 : publishedAt + minIntervalMs - clock.elapsed();
    if (remainingMs <= 0) publishNow();
    else cancel = clock.after(remainingMs, publishNow);
  }

  return {
    take(delta) {
      if (delta.kind === "text-delta") takeText(delta.text);
      else if (delta.kind === "done") publishNow();
    },
    end() {
      cancel?.();
      cancel = null;
    },
  };
}

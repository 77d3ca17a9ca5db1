/**
 * Those who watch. They can change nothing: what they throw is reported as a warning, what they return is not waited for.
 */
import type { RunResult } from "../core/outcome.js";
import type { PublicEvent } from "../core/public-event.js";
import type { MessageDelta } from "../ports/model.js";
import type { Observer } from "../ports/observer.js";
import type { LoopTrace, TraceRecord } from "../ports/trace.js";
import { textOfError } from "./error-text.js";
import { freeze } from "./freeze.js";
import { createRedaction, guarded, type Redact } from "./redact.js";

type EventNamed<Type extends PublicEvent["type"]> = Extract<PublicEvent, { readonly type: Type }>;

/** For those who want no iterator (STRM-5). */
export type Callbacks = {
  /** A piece of the model's text, as it comes. */
  readonly onText?: (text: string) => unknown;
  readonly onToolCall?: (event: EventNamed<"tool_call">) => unknown;
  readonly onToolResult?: (event: EventNamed<"tool_result">) => unknown;
  readonly onStepFinish?: (event: EventNamed<"step_finished">) => unknown;
  readonly onResponse?: (result: RunResult) => unknown;
  readonly onCompacted?: (event: EventNamed<"compacted">) => unknown;
};

/** Who watches an agent's runs, and what they do not get to see. */
export type WatchOptions = Callbacks & {
  readonly observers?: readonly Observer[];
  /** What texts go through before they are in a trace or a warning; keys of known shapes are taken out unless given. */
  readonly redact?: Redact;
};

export type Listener = {
  readonly event: (event: PublicEvent) => void;
  readonly delta: (delta: MessageDelta, sessionId: string) => void;
  /** Traces are made only where somebody watches them. */
  readonly trace?: TraceListener;
};

export type TraceListener = {
  readonly tell: (record: TraceRecord, run: LoopTrace) => void;
  readonly content: boolean;
};

export function compileListeners(options: WatchOptions): {
  readonly listeners: readonly Listener[];
  readonly redact: Redact;
} {
  const redact = guarded(options.redact ?? createRedaction());
  const call = createCall(redact);
  const { observers = [] } = options;
  return { listeners: [callBack(options, call), ...observers.map((observer) => observe(observer, call))], redact };
}

function observe(observer: Observer, call: Call): Listener {
  const { name = "observer", onEvent, onDelta, onTrace, traceContent = false } = observer;
  const tell = (record: TraceRecord, run: LoopTrace) => call(name, onTrace, record, run);
  return {
    ...(onTrace === undefined ? {} : { trace: { tell, content: traceContent } }),
    event: (event) => call(name, onEvent, event),
    delta: (delta, sessionId) => call(name, onDelta, delta, sessionId),
  };
}

function callBack(callbacks: Callbacks, call: Call): Listener {
  const { onText, onToolCall, onToolResult, onStepFinish, onResponse, onCompacted } = callbacks;
  return {
    event(event) {
      if (event.type === "tool_call") call("onToolCall", onToolCall, event);
      else if (event.type === "tool_result") call("onToolResult", onToolResult, event);
      else if (event.type === "step_finished") call("onStepFinish", onStepFinish, event);
      else if (event.type === "compacted") call("onCompacted", onCompacted, event);
      else if (event.type === "final") call("onResponse", onResponse, event.result);
    },
    delta(delta) {
      if (delta.kind === "text-delta") call("onText", onText, delta.text);
    },
  };
}

type Call = <Arguments extends readonly unknown[]>(
  name: string,
  listener: ((...values: Arguments) => unknown) | undefined,
  ...values: Arguments
) => void;

function createCall(redact: Redact): Call {
  const warn = (name: string, error: unknown) =>
    process.emitWarning(`${name} failed (${redact(textOfError(error))}); the run goes on without it`, {
      type: "PawlWarning",
      code: "PAWL_OBSERVER",
    });
  return (name, listener, ...values) => {
    if (listener === undefined) return;
    try {
      const returned = listener(...freeze(values));
      if (returned instanceof Promise) returned.catch((error) => warn(name, error));
    } catch (error) {
      warn(name, error);
    }
  };
}

/**
 * Those who watch, off the loop's path (HOOK-5).
 *
 * 1. They can change nothing: what they get is frozen, what they throw is reported as a warning, what they return is not waited for.
 * 2. They are called in order, a turn of the event loop later than what they are told of happened: the loop has gone on by then.
 * 3. Where a run ends or waits for a person they have been told so before its result is there, and of all that happened before a
 *    shutdown is over. Nor does the loop get far ahead of them.
 */
import type { RunResult } from "../../core/view/outcome.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { MessageDelta } from "../../ports/model.js";
import type { Observer } from "../../ports/observer.js";
import type { LoopTrace, TraceRecord } from "../../ports/trace.js";
import { textOfError } from "../lib/error-text.js";
import { freeze } from "../lib/freeze.js";
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
  readonly event?: (event: PublicEvent) => void;
  readonly delta?: (delta: MessageDelta, sessionId: string) => void;
  /** Traces are made only where somebody watches them. */
  readonly trace?: TraceListener;
  /** Tells at once what is still to be told. */
  readonly catchUp: () => void;
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
  return {
    listeners: offPath([callBack(options, call), ...observers.map((observer) => observe(observer, call))]),
    redact,
  };
}

type Watcher = Omit<Listener, "catchUp">;

function observe(observer: Observer, call: Call): Watcher {
  const { name = "observer", onEvent, onDelta, onTrace, traceContent = false } = observer;
  const tell = (record: TraceRecord, run: LoopTrace) => call(name, onTrace, record, run);
  return {
    ...(onTrace === undefined ? {} : { trace: { tell, content: traceContent } }),
    ...(onEvent === undefined ? {} : { event: (event) => call(name, onEvent, event) }),
    ...(onDelta === undefined ? {} : { delta: (delta, sessionId) => call(name, onDelta, delta, sessionId) }),
  };
}

function callBack(callbacks: Callbacks, call: Call): Watcher {
  const { onText, onToolCall, onToolResult, onStepFinish, onResponse, onCompacted } = callbacks;
  const ofEvents = [onToolCall, onToolResult, onStepFinish, onResponse, onCompacted];
  const event = (event: PublicEvent) => {
    if (event.type === "tool_call") call("onToolCall", onToolCall, event);
    else if (event.type === "tool_result") call("onToolResult", onToolResult, event);
    else if (event.type === "step_finished") call("onStepFinish", onStepFinish, event);
    else if (event.type === "compacted") call("onCompacted", onCompacted, event);
    else if (event.type === "final") call("onResponse", onResponse, event.result);
  };
  const delta = (delta: MessageDelta) => {
    if (delta.kind === "text-delta") call("onText", onText, delta.text);
  };
  return {
    ...(ofEvents.every((one) => one === undefined) ? {} : { event }),
    ...(onText === undefined ? {} : { delta }),
  };
}

/** What is still to be told is kept up to this many. */
const longestQueue = 1_024;

/** Listeners that tell these watchers later what they hear: one of events and deltas, and one for each trace. */
function offPath(watchers: readonly Watcher[]): readonly Listener[] {
  const ofEvents = watchers.flatMap(({ event }) => event ?? []);
  const ofDeltas = watchers.flatMap(({ delta }) => delta ?? []);
  let untold: (() => void)[] = [];

  function catchUp(): void {
    const all = untold;
    untold = [];
    for (const tell of all) tell();
  }

  function later(tell: () => void): void {
    if (untold.push(tell) === 1) setImmediate(catchUp);
    else if (untold.length > longestQueue) catchUp();
  }

  const event = (event: PublicEvent) =>
    later(() => {
      freeze(event);
      for (const tell of ofEvents) tell(event);
    });
  const delta = (delta: MessageDelta, sessionId: string) =>
    later(() => {
      freeze(delta);
      for (const tell of ofDeltas) tell(delta, sessionId);
    });
  const all: Listener = {
    ...(ofEvents.length === 0 ? {} : { event }),
    ...(ofDeltas.length === 0 ? {} : { delta }),
    catchUp,
  };
  const traced = watchers.flatMap(({ trace }): readonly Listener[] => {
    if (trace === undefined) return [];
    const tell = (record: TraceRecord, run: LoopTrace) => later(() => trace.tell(record, run));
    return [{ trace: { ...trace, tell }, catchUp }];
  });
  return ofEvents.length + ofDeltas.length === 0 ? traced : [all, ...traced];
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
      const returned = listener(...values);
      if (returned instanceof Promise) returned.catch((error) => warn(name, error));
    } catch (error) {
      warn(name, error);
    }
  };
}

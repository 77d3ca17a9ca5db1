/**
 * Calls observers and callbacks off the loop's path (HOOK-5).
 *
 * 1. Listeners can change nothing: values are frozen, errors become warnings, and returned promises are not awaited.
 * 2. Listeners are called in order, in a later turn of the event loop, when the agent loop has already continued.
 * 3. All queued calls are made before a run's result is returned, before a run waits for a person, and before a shutdown ends. The queue is
 *    bounded: when it is full, all its calls are made immediately.
 */

import { aBoolean, aFunction, anyValue, checkPlainOptions, type OptionTable } from "../../check-options.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { RunResult } from "../../core/view/outcome.js";
import type { PublicEvent, PublicEventOf } from "../../core/view/public-event.js";
import { PawlError } from "../../errors.js";
import { scheduleNextTurn, warn } from "../../platform/process.js";
import type { MessageDelta } from "../../ports/model.js";
import type { EventContext, Observer } from "../../ports/observer.js";
import type { LoopTrace, TraceRecord } from "../../ports/trace.js";
import { formatError } from "../lib/error-text.js";
import { createGuardedRedact, createRedaction, type Redact } from "./redact.js";

/** Callbacks for the events of a run, as an alternative to `runStream`. */
export type Callbacks = {
  /** Called with each piece of the model's text as it arrives. */
  readonly onText?: (text: string) => unknown;
  /** Called with each tool call. */
  readonly onToolCall?: (event: PublicEventOf<"tool_call">) => unknown;
  /** Called with each result of a tool call. */
  readonly onToolResult?: (event: PublicEventOf<"tool_result">) => unknown;
  /** Called when a model call has ended. */
  readonly onStepFinish?: (event: PublicEventOf<"step_finished">) => unknown;
  /** Called with the result of a run. */
  readonly onResponse?: (result: RunResult) => unknown;
  /** Called when a conversation has been compacted. */
  readonly onCompacted?: (event: PublicEventOf<"compacted">) => unknown;
};

/** The observers and callbacks of an agent's runs, and what is redacted for them. */
export type WatchOptions = Callbacks & {
  /** Observers receive events, and cannot change anything. */
  readonly observers?: readonly Observer[];
  /** Redacts text before it goes into a trace or a warning. Default: removes keys of known shapes. */
  readonly redact?: Redact;
};

export type Listener = {
  readonly event?: (event: PublicEvent, context: EventContext) => void;
  readonly delta?: (delta: MessageDelta, sessionId: string) => void;
  /** Traces are built only if a listener has this. */
  readonly trace?: TraceListener;
  /** Makes all queued calls immediately. */
  readonly catchUp: () => void;
};

export type TraceListener = {
  readonly notify: (record: TraceRecord, run: LoopTrace) => void;
  readonly content: boolean;
};

export function compileListeners(options: WatchOptions): {
  readonly listeners: readonly Listener[];
  readonly redact: Redact;
  readonly activeTraceparent: () => string | undefined;
} {
  const redact = createGuardedRedact(options.redact ?? createRedaction());
  const call = createSafeCall(redact);
  const { observers = [] } = options;
  return {
    listeners: queueCalls([
      toCallbackWatcher(options, call),
      ...observers.map((observer) => toObserverWatcher(observer, call)),
    ]),
    redact,
    activeTraceparent: () => activeTraceparent(observers, call),
  };
}

function activeTraceparent(observers: readonly Observer[], call: SafeCall): string | undefined {
  for (const { name = "observer", traceparent } of observers) {
    let known: string | undefined;
    const ask = (): unknown => {
      const given: unknown = traceparent?.();
      if (typeof given === "string") known = given;
      return given;
    };
    call(name, ask);
    if (known !== undefined) return known;
  }
  return undefined;
}

type ListenerSource = Omit<Listener, "catchUp">;

const observerRules: OptionTable<Observer> = {
  name: anyValue,
  onEvent: aFunction,
  onDelta: aFunction,
  onTrace: aFunction,
  traceparent: aFunction,
  traceContent: aBoolean,
  children: aBoolean,
};

function toObserverWatcher(observer: Observer, call: SafeCall): ListenerSource {
  if (typeof observer !== "object" || observer === null)
    throw new PawlError("bad_configuration", "An observer is not an object. Give it onEvent, onDelta or onTrace.");
  checkPlainOptions("An observer", observerRules, observer);
  const { name = "observer", onEvent, onDelta, onTrace, traceContent = false } = observer;
  const notify = (record: TraceRecord, run: LoopTrace) => call(name, onTrace, record, run);
  return {
    ...(onTrace === undefined ? {} : { trace: { notify, content: traceContent } }),
    ...(onEvent === undefined ? {} : { event: (event, context) => call(name, onEvent, event, context) }),
    ...(onDelta === undefined ? {} : { delta: (delta, sessionId) => call(name, onDelta, delta, sessionId) }),
  };
}

function toCallbackWatcher(callbacks: Callbacks, call: SafeCall): ListenerSource {
  const { onText, onToolCall, onToolResult, onStepFinish, onResponse, onCompacted } = callbacks;
  const eventHandlers = [onToolCall, onToolResult, onStepFinish, onResponse, onCompacted];
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
    ...(eventHandlers.every((one) => one === undefined) ? {} : { event }),
    ...(onText === undefined ? {} : { delta }),
  };
}

/** The maximum number of queued calls. */
const maxQueued = 1_024;

/** Listeners that queue the calls of these watchers: one listener for events and deltas, and one for each trace. */
function queueCalls(watchers: readonly ListenerSource[]): readonly Listener[] {
  const eventHandlers = watchers.flatMap(({ event }) => event ?? []);
  const deltaHandlers = watchers.flatMap(({ delta }) => delta ?? []);
  let queue: (() => void)[] = [];

  function catchUp(): void {
    const calls = queue;
    queue = [];
    for (const call of calls) call();
  }

  function enqueue(call: () => void): void {
    if (queue.push(call) === 1) scheduleNextTurn(catchUp);
    else if (queue.length > maxQueued) catchUp();
  }

  const event = (event: PublicEvent, context: EventContext) =>
    enqueue(() => {
      deepFreeze(event);
      for (const handle of eventHandlers) handle(event, context);
    });
  const delta = (delta: MessageDelta, sessionId: string) =>
    enqueue(() => {
      deepFreeze(delta);
      for (const handle of deltaHandlers) handle(delta, sessionId);
    });
  const all: Listener = {
    ...(eventHandlers.length === 0 ? {} : { event }),
    ...(deltaHandlers.length === 0 ? {} : { delta }),
    catchUp,
  };
  const traced = watchers.flatMap(({ trace }): readonly Listener[] => {
    if (trace === undefined) return [];
    const notify = (record: TraceRecord, run: LoopTrace) => enqueue(() => trace.notify(record, run));
    return [{ trace: { ...trace, notify }, catchUp }];
  });
  return eventHandlers.length + deltaHandlers.length === 0 ? traced : [all, ...traced];
}

type SafeCall = <Arguments extends readonly unknown[]>(
  name: string,
  listener: ((...values: Arguments) => unknown) | undefined,
  ...values: Arguments
) => void;

function createSafeCall(redact: Redact): SafeCall {
  const warnAbout = (name: string, error: unknown) =>
    warn(`${name} failed (${redact(formatError(error))}); the run continues without it`, "PAWL_OBSERVER");
  return (name, listener, ...values) => {
    if (listener === undefined) return;
    try {
      const returned = listener(...values);
      if (returned instanceof Promise) returned.catch((error) => warnAbout(name, error));
    } catch (error) {
      warnAbout(name, error);
    }
  };
}

/**
 * What tests of runs share: promises that they settle, tools that wait, streams as lists.
 */
import {
  defineTool,
  type PublicEvent,
  type PublicEventType,
  type RunResult,
  type Session,
  type StreamItem,
  type ToolContext,
} from "../../src/index.js";

export type Deferred<T = void> = {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
};

export function createDeferred<T = void>(): Deferred<T> {
  let resolve: Deferred<T>["resolve"] = () => {};
  let reject: Deferred<T>["reject"] = () => {};
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

const anyInput = { type: "object" } as const;

/** A tool that says when it was started, and ends when the test says so. */
export function createGateTool(name = "gate", options: { readonly heedsSignal?: boolean } = {}) {
  const started = createDeferred<ToolContext>();
  const gate = createDeferred<unknown>();
  let runs = 0;
  const tool = defineTool({
    name,
    description: "Waits.",
    input: anyInput,
    execute(_input, context) {
      runs += 1;
      started.resolve(context);
      if (options.heedsSignal !== false)
        context.signal.addEventListener("abort", () => gate.reject(new Error("stopped by its signal")));
      return gate.promise;
    },
  });
  return { tool, started: started.promise, open: gate.resolve, fail: gate.reject, runs: () => runs };
}

/** A tool that gives back its input as text, and counts. */
export function createEchoTool(name = "echo") {
  const inputs: unknown[] = [];
  const tool = defineTool({
    name,
    description: "Gives its input back.",
    input: anyInput,
    readOnly: true,
    execute(input) {
      inputs.push(input);
      return `echo ${JSON.stringify(input)}`;
    },
  });
  return { tool, inputs };
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

export function isEvent(item: StreamItem): item is PublicEvent {
  return "seq" in item;
}

export function filterEvents(items: readonly StreamItem[]): readonly PublicEvent[] {
  return items.filter(isEvent);
}

export function listEventTypes(items: readonly StreamItem[]): readonly string[] {
  return filterEvents(items).map((event) => event.type);
}

export function filterEventsOfType<Type extends PublicEventType>(
  items: readonly StreamItem[],
  type: Type,
): readonly Extract<PublicEvent, { readonly type: Type }>[] {
  return filterEvents(items).filter(
    (event): event is Extract<PublicEvent, { readonly type: Type }> => event.type === type,
  );
}

/** The result of a session's first run, whoever drives it. */
export async function awaitFinalResult(session: Session): Promise<RunResult> {
  for await (const item of session.events()) if (item.type === "final") return item.result;
  throw new Error("The run did not end.");
}

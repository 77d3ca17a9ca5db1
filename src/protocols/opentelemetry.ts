/**
 * OpenTelemetry: exports runs, model calls and tool calls as spans, using only `@opentelemetry/api`.
 *
 * 1. The process in which a run ends exports the spans of the whole run once, including those of its parts in other
 *    processes.
 * 2. A run belongs to one trace, whichever processes drive it: the request's trace, if the log names it, and otherwise a trace
 *    whose id is a hash of session and run.
 * 3. Content and the names of people are exported only on request. Content is then redacted (SEC-14).
 */
import type { Attributes, Context, HrTime, Link, Span, SpanKind, Tracer } from "@opentelemetry/api";
import { type Observer, PawlError } from "../index.js";
import type { LoopTrace, TracedCall, TracedToolStep, TraceRecordOf, TraceSpan } from "../inspect.js";
import * as names from "./genai.js";
import { loadOpenTelemetryApi, type OpenTelemetryApi } from "./opentelemetry-api.js";
import {
  toAttemptAttributes,
  toCallAttributes,
  toCompactionAttributes,
  toHandoffAttributes,
  toHookAttributes,
  toRunAttributes,
  toToolStepAttributes,
  toWaitAttributes,
} from "./span-attributes.js";

/** Options for the exported spans. */
export type OpenTelemetryOptions = {
  /** Default: the global provider's tracer `pawl`. */
  readonly tracer?: Tracer;
  /** If true, spans include run inputs, model texts, and inputs and outputs of tools, redacted. Default: false. */
  readonly captureContent?: boolean;
  /**
   * If true, spans name people: who sent the request of a run (`enduser.id`), and who answered a call (`pawl.wait.by`).
   * Default: false, because a principal can be a person's name.
   */
  readonly principal?: boolean;
};

const optionNames: readonly string[] = [
  "tracer",
  "captureContent",
  "principal",
] satisfies (keyof OpenTelemetryOptions)[];

function checkOptionNames(options: OpenTelemetryOptions): void {
  const unknown = Object.keys(options).find((name) => !optionNames.includes(name));
  if (unknown !== undefined)
    throw new PawlError(
      "bad_configuration",
      `Unknown option ${JSON.stringify(unknown)} of the OpenTelemetry observer. Known options: ${optionNames.join(", ")}.`,
    );
}

/**
 * Creates an observer that exports each run as spans when it ends:
 * `createAgent({ observers: [createOpenTelemetryObserver()] })`.
 *
 * @throws PawlError `missing_package` if `@opentelemetry/api` is not installed
 *
 * @example
 * ```ts
 * import { trace } from "@opentelemetry/api";
 * import { createOpenTelemetryObserver } from "pawl/protocols/opentelemetry";
 *
 * const observer = createOpenTelemetryObserver({ tracer: trace.getTracer("support") });
 * const agent = createAgent({ model, tools, observers: [observer] });
 * ```
 */
export function createOpenTelemetryObserver(options: OpenTelemetryOptions = {}): Observer {
  checkOptionNames(options);
  const { captureContent = false } = options;
  loadOpenTelemetryApi();
  return {
    name: "opentelemetry",
    traceContent: captureContent,
    traceparent: activeTraceparent,
    onTrace(record, run) {
      if (record.type === "run_finished") exportTrace(run, options);
    },
  };
}

/**
 * The active span as a W3C `traceparent`; undefined if there is none. The observer joins runs to it automatically.
 * Call this only for requests without an agent: `client.session(id).send(input, { traceparent: activeTraceparent() })`,
 * or `createServer({ traceparent: activeTraceparent })`.
 *
 * @throws PawlError `missing_package` if `@opentelemetry/api` is not installed
 */
export function activeTraceparent(): string | undefined {
  const { isSpanContextValid, trace } = loadOpenTelemetryApi();
  const active = trace.getActiveSpan()?.spanContext();
  if (active === undefined || !isSpanContextValid(active)) return undefined;
  const flags = (active.traceFlags & 0xff).toString(16).padStart(2, "0");
  return `00-${active.traceId}-${active.spanId}-${flags}`;
}

/**
 * Exports a trace that `traceSession` has read from a log: a span for each run that has ended, and the spans within it.
 *
 * @throws PawlError `missing_package` if `@opentelemetry/api` is not installed
 *
 * @example
 * ```ts
 * import { traceSession } from "pawl/inspect";
 * import { exportTrace } from "pawl/protocols/opentelemetry";
 *
 * exportTrace(await traceSession(store, sessionId));
 * ```
 */
export function exportTrace(records: LoopTrace, options: OpenTelemetryOptions = {}): void {
  checkOptionNames(options);
  const api = loadOpenTelemetryApi();
  for (const finished of records) {
    if (finished.type !== "run_finished") continue;
    const runRecords = records.filter((record) => record.runId === finished.runId);
    const started = runRecords.find((record) => record.type === "run_started");
    if (started !== undefined) exportRun(api, started, runRecords, finished, options);
  }
}

function exportRun(
  api: OpenTelemetryApi,
  started: TraceRecordOf<"run_started">,
  records: LoopTrace,
  finished: TraceRecordOf<"run_finished">,
  options: OpenTelemetryOptions,
): void {
  const { tracer = api.trace.getTracer("pawl"), captureContent = false, principal = false } = options;
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
  const { parent, agent, traceId, traceparent } = started;
  const sharesTrace = parent === undefined || parent.traceId === traceId;
  const links: Link[] = sharesTrace ? [] : [{ context: createRootContext(api, parent.traceId) }];
  const attributes = toRunAttributes(started, finished, { content: captureContent, principal });
  const span = tracer.startSpan(
    `${names.operations.run} ${agent}`,
    { kind: SpanKind.INTERNAL, startTime: toHrTime(finished.startedAt), attributes, links },
    trace.setSpanContext(
      ROOT_CONTEXT,
      traceparent === undefined ? createRootContext(api, traceId) : parseTraceparent(traceparent),
    ),
  );
  const scope = { api, tracer, context: trace.setSpan(ROOT_CONTEXT, span), span, captureContent, principal };
  for (const record of records) {
    if (record.type === "step") exportStep(record, scope);
    if (record.type === "compaction")
      span.addEvent("pawl.compaction", toCompactionAttributes(record), toHrTime(record.at));
    if (record.type === "handoff") span.addEvent("pawl.handoff", toHandoffAttributes(record), toHrTime(record.at));
    if ("hooks" in record)
      for (const hook of record.hooks) span.addEvent("pawl.hook", toHookAttributes(hook), toHrTime(hook.startedAt));
  }
  if (finished.status === "failed") span.setStatus({ code: SpanStatusCode.ERROR, message: finished.reason });
  span.end(toHrTime(finished.startedAt + finished.durationMs));
}

type SpanScope = {
  readonly api: OpenTelemetryApi;
  readonly tracer: Tracer;
  readonly context: Context;
  /** The span of the run. */
  readonly span: Span;
  readonly captureContent: boolean;
  readonly principal: boolean;
};

function exportStep(record: TraceRecordOf<"step">, scope: SpanScope): void {
  const { captureContent, principal, span } = scope;
  const { SpanKind } = scope.api;
  for (const attempt of record.attempts) {
    const { text: _, ...withoutContent } = attempt;
    const name = `${names.operations.modelCall} ${attempt.model}`;
    const attributes = toAttemptAttributes(captureContent ? attempt : withoutContent, record);
    addSpan(scope, name, SpanKind.CLIENT, attempt, attributes, attempt.failure?.message);
  }
  for (const call of record.calls) {
    const { input: _, output: __, returned: ___, ...withoutContent } = call;
    const attributes = toCallAttributes(captureContent ? call : withoutContent, record);
    const execution = findExecution(call);
    const error = call.outcome === "ok" ? undefined : (call.outcome ?? "unknown");
    const name = `${names.operations.toolCall} ${call.name}`;
    if (execution !== undefined) addSpan(scope, name, SpanKind.INTERNAL, execution, attributes, error, call.steps);
    else span.addEvent("pawl.call_not_run", attributes, toHrTime(record.startedAt + record.durationMs));
    for (const { by, ...wait } of call.waits) {
      const visibleWait = principal && by !== undefined ? { ...wait, by } : wait;
      span.addEvent("pawl.wait", toWaitAttributes(call, visibleWait), toHrTime(wait.startedAt));
    }
  }
}

/** When a call ran. If it ran outside the loop, or another agent answered it, it ran during the wait. */
function findExecution({ ran: execution, waits }: TracedCall): TraceSpan | undefined {
  return execution ?? waits.findLast((wait) => wait.for !== "person");
}

function addSpan(
  { api, tracer, context, captureContent, principal }: SpanScope,
  name: string,
  kind: SpanKind,
  { startedAt, durationMs }: TraceSpan,
  attributes: Attributes,
  error: string | undefined,
  steps: readonly TracedToolStep[] = [],
): void {
  const span = tracer.startSpan(name, { kind, startTime: toHrTime(startedAt), attributes }, context);
  if (error !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR, message: error });
  const stepScope = { api, tracer, context: api.trace.setSpan(context, span), span, captureContent, principal };
  for (const step of steps) {
    const { output: _, ...withoutContent } = step;
    const stepAttributes = toToolStepAttributes(captureContent ? step : withoutContent);
    // The message of an error is what the tool says, like its output.
    const stepError = step.outcome === "ok" || captureContent ? step.message : step.outcome;
    addSpan(stepScope, `tool_step ${step.step}`, api.SpanKind.INTERNAL, step, stepAttributes, stepError);
  }
  span.end(toHrTime(startedAt + durationMs));
}

/** A remote parent with the run's trace id, because the API offers no other way to choose a trace id. */
function createRootContext(api: OpenTelemetryApi, traceId: string) {
  return { traceId, spanId: traceId.slice(0, 16), traceFlags: api.TraceFlags.SAMPLED, isRemote: true };
}

/** The span of the request. Its sampling decision also applies to the run. */
function parseTraceparent(traceparent: string) {
  const [, traceId = "", spanId = "", flags = ""] = traceparent.split("-");
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

/** An `HrTime`, because OpenTelemetry may read a plain number as the time since the process began. */
function toHrTime(at: number): HrTime {
  return [Math.trunc(at / 1000), Math.round((at % 1000) * 1e6)];
}

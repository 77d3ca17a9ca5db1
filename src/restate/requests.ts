/**
 * The requests and results of the object's handlers. Anyone who reaches Restate can send requests: their field names are checked
 * here, and their values by the store's client.
 */
import { isObject } from "../core/data/is-object.js";
import {
  type AnswerOptions,
  type ApprovalDecision,
  type Input,
  PawlError,
  type PendingApproval,
  type PostOptions,
  type RunResult,
  type Status,
} from "../index.js";

/** Input for the session, with the options of a client's `send`. */
export type SendRequest = {
  /** The request, as for `session.send`. */
  readonly input: Input;
  /** The options, as for `session.send`. */
  readonly options?: PostOptions;
};

/** An answer to a waiting call of the session or of a session below it. */
export type AnswerRequest = {
  readonly callKey: string;
  /** The decision, as for `session.answer`. */
  readonly decision: ApprovalDecision;
  /** The options, as for `session.answer`. */
  readonly options?: AnswerOptions;
};

/** The result of a call that runs outside of Pawl. */
export type ResultRequest = {
  readonly callKey: string;
  /** The output, as for `session.provideResult`. */
  readonly output: unknown;
  /** The options, as for `session.provideResult`. */
  readonly options?: { readonly isError?: boolean };
};

/** The status of a session, its result and its open questions. */
export type ObjectStatus = {
  readonly status: Status;
  /** The result of the current or last run; null if there is none, or if the run has not ended. */
  readonly result: RunResult | null;
  /** The calls and questions that wait for an answer, including those of the sessions below. */
  readonly approvals: readonly PendingApproval[];
};

/** The request that `drive` sends itself for a later time. Other callers send no body. */
export type WakeRequest = {
  /** The time for which the request was scheduled, in epoch milliseconds. */
  readonly at: number;
  /** How many times in a row another process held the session. */
  readonly tries: number;
};

/** The requests, by the handler that accepts them. */
type Requests = { readonly send: SendRequest; readonly answer: AnswerRequest; readonly provideResult: ResultRequest };

type FieldNames<Request> = { readonly [Name in keyof Request]-?: true };

const requestFields: { readonly [Handler in keyof Requests]: FieldNames<Requests[Handler]> } = {
  send: { input: true, options: true },
  answer: { callKey: true, decision: true, options: true },
  provideResult: { callKey: true, output: true, options: true },
};

/** Returns the request. @throws PawlError `bad_input` */
export function checkRequest<Handler extends keyof Requests>(
  handler: Handler,
  request: Requests[Handler],
): Requests[Handler] {
  const known = Object.keys(requestFields[handler]);
  const { options } = Object(request) as { readonly options?: unknown };
  if (!isObject(request) || (options !== undefined && !isObject(options)))
    throw new PawlError(
      "bad_input",
      `${handler} takes a JSON object with ${known.join(", ")}; the field options must be an object.`,
    );
  const unknown = Object.keys(request).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new PawlError(
      "bad_input",
      `${handler} has no field ${JSON.stringify(unknown.slice(0, 100))}. It has ${known.join(", ")}.`,
    );
  return request;
}

/** The request of `drive`; null if it was called without a body. @throws PawlError `bad_input` */
export function parseWake(request: unknown): WakeRequest | null {
  if (request === undefined || request === null) return null;
  const { at, tries } = Object(request) as { readonly at?: unknown; readonly tries?: unknown };
  if (typeof at === "number" && Number.isSafeInteger(tries) && Number(tries) >= 0) return { at, tries: Number(tries) };
  throw new PawlError(
    "bad_input",
    "Invalid body for drive: it accepts only a body that it has sent itself. Call drive without a body.",
  );
}

/**
 * `pawl/restate`: Restate drives the sessions of a store. Needs the package `@restatedev/restate-sdk`.
 *
 * Restate dispatches; Pawl's driver and the store do the work. Each session is a Restate virtual object. Its exclusive handler
 * `drive` continues the session until it rests or waits, and holds nothing while the session waits. What has happened is in the
 * log, so Restate may call `drive` at any time and as often as it likes.
 */
import type { VirtualObjectDefinition } from "@restatedev/restate-sdk";
import { type ClientOption, createClient, createClientCheck, createWorker, PawlError, type Store } from "../index.js";
import type { DispatchedAgent } from "./drive.js";
import { createHandlers, type PawlHandlers } from "./handlers.js";
import { importRestateSdk, type RestateSdk } from "./sdk.js";

export type { DispatchedAgent } from "./drive.js";
export type { PawlHandlers } from "./handlers.js";
export type { AnswerRequest, ObjectStatus, ResultRequest, SendRequest, WakeRequest } from "./requests.js";

/** The options of `pawlObject`. */
export type PawlObjectOptions = {
  /** The store of the agents. All services share it: a PostgreSQL database, or a SQLite file on one machine. */
  readonly store: Store;
  /** The agents whose sessions are driven, including the agents that they reach through handoffs; for example `engine.agents`. */
  readonly agents: readonly DispatchedAgent[];
  /**
   * The run options that a request to `send` may have, for example `["model", "settings.reasoning"]`: each overrides the agent's
   * setting. `agent`, `by`, `mode`, `runId` and `skip` are always allowed. Default: none.
   */
  readonly clientOptions?: readonly ClientOption[];
  /** The name of the object in Restate. Default: `Pawl`. */
  readonly name?: string;
  /**
   * How long running calls may continue after Restate cuts an invocation off, for example because it restarts, in milliseconds.
   * Default: 60,000.
   */
  readonly graceMs?: number;
};

/**
 * Creates a Restate virtual object whose keys are session ids: `createEndpointHandler({ services: [await pawlObject(…)] })`.
 *
 * On Node 20, this adds `Promise.withResolvers` to the process. The SDK needs it, and Node has it from version 22 on.
 * @throws PawlError `bad_configuration`; `missing_package` without `@restatedev/restate-sdk`
 *
 * @example
 * ```ts
 * import { createServer } from "node:http2";
 * import { createEndpointHandler } from "@restatedev/restate-sdk";
 * import { pawlObject } from "pawl/restate";
 *
 * const object = await pawlObject({ store, agents: [agent] });
 * createServer(createEndpointHandler({ services: [object] })).listen(9080);
 * ```
 */
export async function pawlObject(options: PawlObjectOptions): Promise<VirtualObjectDefinition<string, PawlHandlers>> {
  checkOptions(options);
  const { store, agents, clientOptions = [], name = "Pawl", graceMs = 60_000 } = options;
  const checkClient = createClientCheck(clientOptions);
  // Created only to check that the agents use this store: each invocation creates its own worker.
  createWorker({ store, agents });
  const sdk = await importRestateSdk();
  return sdk.object({
    name,
    handlers: createHandlers(sdk, name, { store, agents, graceMs, checkClient, client: createClient({ store }) }),
    options: {
      // An attempt lasts as long as the run does.
      inactivityTimeout: maxAttemptMs,
      abortTimeout: maxAttemptMs,
      // A store may be unavailable for a long time, and an agent may be missing until the next deployment.
      retryPolicy: { initialInterval: 100, exponentiationFactor: 2, maxInterval: 30_000, maxAttempts: 1_000_000 },
      asTerminalError: (error: unknown) => toTerminalError(sdk, error),
    },
  });
}

const maxAttemptMs = 7 * 24 * 3_600_000;

const optionChecks: { readonly [Name in keyof PawlObjectOptions]-?: (value: unknown) => boolean } = {
  store: (value) => typeof value === "object" && value !== null,
  agents: Array.isArray,
  clientOptions: (value) => value === undefined || Array.isArray(value),
  name: (value) => value === undefined || (typeof value === "string" && value !== ""),
  graceMs: (value) => value === undefined || (Number.isFinite(value) && Number(value) >= 0),
};

function checkOptions(options: PawlObjectOptions): void {
  if (typeof options !== "object" || options === null)
    throw new PawlError("bad_configuration", "The options of pawlObject() must be an object.");
  for (const option of Object.keys(options))
    if (!Object.hasOwn(optionChecks, option))
      throw new PawlError(
        "bad_configuration",
        `pawlObject() has no option ${JSON.stringify(option.slice(0, 100))}. It has ${Object.keys(optionChecks).join(", ")}.`,
      );
  const invalid = Object.entries(optionChecks).find(
    ([option, isValid]) => !isValid(Object.getOwnPropertyDescriptor(options, option)?.value),
  );
  if (invalid !== undefined)
    throw new PawlError(
      "bad_configuration",
      `The option ${invalid[0]} of pawlObject() is missing or invalid. See PawlObjectOptions.`,
    );
}

/** HTTP status by error code, for errors that a retry would not fix. All other errors may be transient. */
const terminalCodes: ReadonlyMap<string, number> = new Map([
  ["bad_input", 400],
  ["not_storable", 400],
  ["no_session", 404],
  ["no_such_call", 404],
  ["no_such_run", 404],
  ["session_busy", 409],
]);

function toTerminalError(sdk: RestateSdk, error: unknown): InstanceType<RestateSdk["TerminalError"]> | undefined {
  const errorCode = error instanceof PawlError ? terminalCodes.get(error.code) : undefined;
  if (!(error instanceof PawlError) || errorCode === undefined) return undefined;
  return new sdk.TerminalError(`${error.code}: ${error.message}`, { errorCode });
}

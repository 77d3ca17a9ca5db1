/**
 * What a client is told of an error that comes after its answer has begun, or that another protocol puts into a form of its own.
 */
import { createFailureLine } from "./log-line.js";
import type { RouteRequest } from "./route.js";
import type { ServerContext } from "./server-context.js";
import { toErrorResponse } from "./server-error.js";

/**
 * The message for the client, as `toErrorResponse` gives it and with secrets taken out. Logs the error if the server is to blame.
 *
 * @param sessionId the session that the client asked for, if it asked for one
 */
export function explainFailure(
  { settings }: ServerContext,
  { principal, requestId }: Pick<RouteRequest, "principal" | "requestId">,
  action: string,
  error: unknown,
  sessionId: string | null = null,
): { readonly status: number; readonly message: string } {
  const { status, body, cause } = toErrorResponse(error, requestId);
  if (cause !== undefined)
    settings.log({ ...createFailureLine(action, cause, { principal: principal.id, sessionId }), requestId, status });
  return { status, message: settings.redact(body.error.message) };
}

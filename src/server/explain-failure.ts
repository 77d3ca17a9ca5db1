/**
 * Explains a failure to a client whose response has already begun, or whose protocol has its own form of errors.
 */
import { createFailureLine } from "./log-line.js";
import type { RouteRequest } from "./route.js";
import type { ServerContext } from "./server-context.js";
import { toErrorResponse } from "./server-error.js";

/**
 * Returns the redacted message of `toErrorResponse`. Logs the error if the server is to blame.
 *
 * @param sessionId the session of the request, if it has one
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

/**
 * Authenticates a request when it arrives, and again while its stream is open.
 */
import { createConfigurationError } from "./option-checks.js";
import type { Principal } from "./principal.js";
import type { Route } from "./route.js";
import type { ServerContext } from "./server-context.js";
import { ServerError } from "./server-error.js";

/** @throws ServerError `unauthorized` */
export async function authenticateRequest(
  request: Request,
  { settings, pageAccess }: ServerContext,
): Promise<Principal> {
  const principal = (await settings.authenticate(request)) ?? pageAccess.authenticate(request, Date.now());
  if (principal === null)
    throw new ServerError(
      "unauthorized",
      "The request has no valid credentials. Send a token in the header: Authorization: Bearer TOKEN.",
    );
  checkPrincipal(principal, "authenticate() must return null or");
  return principal;
}

/** Whether the access was not withdrawn while a stream is open. An error of `authenticate` counts as a withdrawal. */
export async function isStillAuthorized(
  request: Request,
  context: ServerContext,
  { id }: Principal,
  { scope }: Route,
): Promise<boolean> {
  if (scope === null) return true;
  const current = await authenticateRequest(request, context).catch(() => null);
  return current !== null && current.id === id && current.scopes.includes(scope);
}

export function checkPrincipal(principal: Principal, what: string): void {
  if (typeof principal?.id !== "string" || principal.id === "" || !Array.isArray(principal.scopes))
    throw createConfigurationError(`${what} a principal with an id and scopes.`);
}

/**
 * Authenticates a request when it arrives, and again while its stream is open.
 */
import { nearestName } from "../core/index.js";
import { createConfigurationError } from "./option-checks.js";
import { type Principal, scopes } from "./principal.js";
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

/** @throws PawlError `bad_configuration` */
export function checkPrincipal(principal: Principal, what: string): void {
  if (typeof principal?.id !== "string" || principal.id === "" || !Array.isArray(principal.scopes))
    throw createConfigurationError(`${what} a principal with an id and scopes.`);
  const knownScopes: readonly unknown[] = scopes;
  const unknownScope: unknown = principal.scopes.find((scope) => !knownScopes.includes(scope));
  if (unknownScope === undefined) return;
  const suggestion = typeof unknownScope === "string" ? nearestName(unknownScope, scopes) : undefined;
  throw createConfigurationError(
    `${what} a principal whose scopes are known, but there is no scope ${JSON.stringify(String(unknownScope).slice(0, 100))}.${suggestion === undefined ? "" : ` Do you mean ${suggestion}?`} The scopes are ${scopes.join(", ")}.`,
  );
}

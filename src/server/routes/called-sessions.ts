/**
 * Tracks the sessions that a protocol request uses, where the client names them in the request's body.
 */
import type { RouteRequest } from "../route.js";
import { authorizeSession, isRefusal, type ServerContext } from "../server-context.js";
import { createPostedSession } from "./chats.js";

type PostedSession = ReturnType<typeof createPostedSession>;

export type CalledSessions = {
  /** Adds a session that the request uses. */
  readonly add: (sessionId: string) => void;
  /** Finds a session in which the principal may run. Null if it does not exist, or if the principal may not use it. */
  readonly find: (sessionId: string) => Promise<PostedSession | null>;
  /** Whether the principal may still use the server and the sessions of the request. @throws ServerError if it may not use one of them */
  readonly canStay: () => Promise<boolean>;
};

export function createCalledSessions(routeRequest: RouteRequest, context: ServerContext): CalledSessions {
  const { principal } = routeRequest;
  const ids = new Set<string>();
  return {
    add: (sessionId) => void ids.add(sessionId),
    async find(sessionId) {
      try {
        const { requested } = await authorizeSession(context, principal, "run", sessionId);
        ids.add(sessionId);
        const session = createPostedSession(routeRequest, context, sessionId, requested.info?.agent);
        return {
          ...session,
          async abort(options) {
            await authorizeSession(context, principal, "abort", sessionId);
            return session.abort(options);
          },
        };
      } catch (error) {
        if (isRefusal(error)) return null;
        throw error;
      }
    },
    async canStay() {
      if (!(await routeRequest.isStillAuthorized())) return false;
      for (const id of ids)
        if ((await context.settings.store.describe(id)) !== null) await authorizeSession(context, principal, "run", id);
      return true;
    },
  };
}

/**
 * Serves the OAuth protected resource metadata (RFC 9728).
 */
import { wellKnownPath } from "../oauth.js";
import { anyJson } from "../response-schemas.js";
import type { Route } from "../route.js";
import { ServerError } from "../server-error.js";

const summary = "The metadata that an OAuth client needs to log in (RFC 9728), if the server has the option `oauth`.";

/** Public routes, because a client reads the metadata before it can log in. */
export const oauthRoutes: readonly Route[] = [wellKnownPath, `${wellKnownPath}/mcp`].map((path) => ({
  method: "GET",
  path,
  action: "metadata",
  scope: null,
  summary,
  responses: { 200: "{ resource, authorization_servers, scopes_supported, bearer_methods_supported }" },
  content: { 200: anyJson },
  handle(_, { settings }) {
    if (settings.oauth === null)
      throw new ServerError("not_found", "OAuth is not enabled on this server. It needs the option `oauth`.");
    return { status: 200, json: settings.oauth.metadata };
  },
}));

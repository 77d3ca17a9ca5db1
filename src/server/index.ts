/**
 * `pawl/server`: the sessions of a store over HTTP.
 */

export type { A2aOptions, A2aSkill } from "./a2a-options.js";
export type { Handlers } from "./handler-types.js";
export { authenticateByJwt, type Jwk, type JwtClaims, type JwtOptions } from "./jwt.js";
export type { LogLine } from "./log-line.js";
export type { McpOptions } from "./mcp-options.js";
export type { Backlog } from "./metrics/backlog.js";
export { createMetrics, type Metrics } from "./metrics/metrics.js";
export { createMetricsServer, type MetricsServerOptions } from "./metrics/server.js";
export type { HttpOptions } from "./node-listener.js";
export type { OAuthOptions } from "./oauth.js";
export type { PeerOptions } from "./peers/peer-options.js";
export {
  type Action,
  type AskedRun,
  type AskedSession,
  type Authenticate,
  type ChooseParams,
  createToken,
  type May,
  type Principal,
  type RunRequest,
  type Scope,
  scopes,
} from "./principal.js";
export { createServer, type Server } from "./server.js";
export { type AnsweredCode, type ErrorBody, type ServerCode, serverCodes } from "./server-error.js";
export type { ServerLimits, ServerOptions } from "./server-options.js";

/**
 * Counts the requests of a server, by route and status.
 */
import { createMetricRegistry } from "./registry.js";

export type RequestMetrics = {
  /** @param action the name of the route; `unknown` for an unknown path */
  readonly recordResponse: (action: string, status: number) => void;
  readonly text: () => string;
};

export function createRequestMetrics(): RequestMetrics {
  const registry = createMetricRegistry();
  const requests = registry.counter("pawl_http_requests_total", "HTTP requests, by route and status.");
  return {
    recordResponse: (action, status) => requests.add({ action, status: String(status) }),
    text: registry.text,
  };
}

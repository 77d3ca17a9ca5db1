/**
 * Counts the requests of a server, by what was asked and how it was answered.
 */
import { createFigures } from "./figures.js";

export type RequestFigures = {
  /** @param action the name of the route; `unknown` for an address that there is not */
  readonly answered: (action: string, status: number) => void;
  readonly text: () => string;
};

export function createRequestFigures(): RequestFigures {
  const figures = createFigures();
  const requests = figures.counter(
    "pawl_http_requests_total",
    "Requests that were answered, by route and HTTP status.",
  );
  return {
    answered: (action, status) => requests.add({ action, status: String(status) }),
    text: figures.text,
  };
}

/**
 * Finds the span that a request was made in, so that its run joins the same trace.
 */
import { createConfigurationError } from "./option-checks.js";

/**
 * Returns the span of a request, as an option of its run.
 *
 * @param fromMessage the `traceparent` in the message itself, if the protocol has one
 */
export type TraceOf = (request: Request, fromMessage?: string | null) => { readonly traceparent?: string };

/** @throws PawlError `bad_configuration` */
export function createTraceOf(traceparent: boolean | ((request: Request) => string | undefined) = true): TraceOf {
  if (typeof traceparent !== "boolean" && typeof traceparent !== "function")
    throw createConfigurationError(
      "The option `traceparent` must be true, false, or a function that returns the traceparent of a request.",
    );
  if (traceparent === false) return () => ({});
  return (request, fromMessage) => {
    try {
      const given = traceparent === true ? (fromMessage ?? request.headers.get("traceparent")) : traceparent(request);
      return typeof given === "string" ? { traceparent: given } : {};
    } catch {
      // A request must not fail because of its trace.
      return {};
    }
  };
}

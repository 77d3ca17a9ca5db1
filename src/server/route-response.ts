/**
 * What a route answers: JSON, bytes or a stream.
 *
 * A module of its own, because the types of `pawl/server` reach it, and those of a route need a package that may be missing.
 */
import type { Sink } from "./sink.js";
import type { OpenStream } from "./watch.js";

export type RouteResponse =
  | { readonly status: number; readonly json: unknown; readonly headers?: ResponseHeaders }
  | { readonly status: number; readonly bytes: Uint8Array | null; readonly headers?: ResponseHeaders }
  | { readonly status: 200; readonly stream: (sink: Sink) => OpenStream; readonly headers?: ResponseHeaders };

type ResponseHeaders = { readonly [name: string]: string };

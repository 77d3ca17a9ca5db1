/**
 * The response of a route: JSON, bytes or a stream.
 *
 * It has its own module, because the types of `pawl/server` use it, while a route's types need a package that may not be installed.
 */
import type { Sink } from "./sink.js";
import type { OpenStream } from "./watch.js";

export type RouteResponse =
  | { readonly status: number; readonly json: unknown; readonly headers?: ResponseHeaders }
  | { readonly status: number; readonly bytes: Uint8Array | null; readonly headers?: ResponseHeaders }
  | { readonly status: 200; readonly stream: (sink: Sink) => OpenStream; readonly headers?: ResponseHeaders };

type ResponseHeaders = { readonly [name: string]: string };

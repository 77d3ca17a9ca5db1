/**
 * What a route answers: JSON, bytes or a stream.
 *
 * A module of its own, because the types of `pawl/server` reach it, and those of a route need a package that may be missing.
 */
import type { Sink } from "./sink.js";
import type { OpenStream } from "./watch.js";

export type Answer =
  | { readonly status: number; readonly json: unknown; readonly headers?: Headers_ }
  | { readonly status: number; readonly bytes: Uint8Array | null; readonly headers?: Headers_ }
  | { readonly status: 200; readonly stream: (sink: Sink) => OpenStream; readonly headers?: Headers_ };

type Headers_ = { readonly [name: string]: string };

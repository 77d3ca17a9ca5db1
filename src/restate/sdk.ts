/**
 * The Restate SDK is an optional peer dependency. It is loaded when an object is created, so that this entry point can be imported
 * without it.
 */
import type * as Sdk from "@restatedev/restate-sdk";
import { PawlError } from "../index.js";

export type RestateSdk = Pick<typeof Sdk, "handlers" | "object" | "rpc" | "TerminalError">;

/** @throws PawlError `missing_package` */
export async function importRestateSdk(): Promise<RestateSdk> {
  try {
    const sdk = await import("@restatedev/restate-sdk");
    polyfillWithResolvers();
    return sdk;
  } catch (cause) {
    throw new PawlError(
      "missing_package",
      "pawlObject() needs the package @restatedev/restate-sdk, which could not be loaded. Install it: npm install @restatedev/restate-sdk",
      { cause },
    );
  }
}

/** The SDK calls `Promise.withResolvers` in each invocation. Node has it from version 22 on; the native function is kept. */
function polyfillWithResolvers(): void {
  if ("withResolvers" in Promise) return;
  const value = function withResolvers<Value>() {
    let resolve: (value: Value | PromiseLike<Value>) => void = () => {};
    let reject: (reason: unknown) => void = () => {};
    const promise = new Promise<Value>((...settlers) => {
      [resolve, reject] = settlers;
    });
    return { promise, resolve, reject };
  };
  Object.defineProperty(Promise, "withResolvers", { value, configurable: true, writable: true });
}

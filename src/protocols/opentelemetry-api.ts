/**
 * `@opentelemetry/api`, which is installed only by those who want spans: loaded when it is used, so that this entry point loads without it.
 */
import { createRequire } from "node:module";
import type * as Api from "@opentelemetry/api";
import { PawlError } from "../index.js";

export type OpenTelemetryApi = typeof Api;

/** Whichever way a program loads the package, its tracer providers are the same: they are registered with the process. */
export function openTelemetryApi(): OpenTelemetryApi {
  try {
    return createRequire(import.meta.url)("@opentelemetry/api");
  } catch (cause) {
    throw new PawlError(
      "missing_package",
      "OpenTelemetry spans need the package @opentelemetry/api. Run: npm install @opentelemetry/api",
      { cause },
    );
  }
}
